"""What people see: descriptions, readable equations, plots, animations, reports."""
