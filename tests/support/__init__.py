"""What tests are made with: local servers, clocks, terminals."""
