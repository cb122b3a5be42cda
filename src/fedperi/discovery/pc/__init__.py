"""PC: the skeleton from tests, v-structures by the strength of their evidence."""
