"""From text to an ARPA file: counts, modified Kneser-Ney, the file itself."""
