"""The commands of tuning. Each command imports heavy libraries only when it runs."""
