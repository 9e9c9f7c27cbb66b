"""The contact problem, its laws, the Delassus operator and the residuals; knows no bodies."""
