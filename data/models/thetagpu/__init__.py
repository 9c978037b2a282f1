"""The shipped model of ThetaGPU."""
