"""The speed of daesolve from commit to commit: ten figures as ratios to fixed loops."""
