"""PC: skeleton by tests, v-structures by the strength of their evidence."""
