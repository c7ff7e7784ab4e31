"""What runs are held against: another run, quadruple precision, how small errors grow."""
