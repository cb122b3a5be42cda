"""Files other than CSV and Parquet: Excel, Stata, SPSS, SAS, and folders of many files."""
