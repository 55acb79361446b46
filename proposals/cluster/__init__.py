"""What is judged or planned while a cluster runs: pools, CRUSH, reports, wiping, maintenance."""
