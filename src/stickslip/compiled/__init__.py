"""The compiled driver: the stages of step.py called in a row by one compiled function, for the models that it knows."""
