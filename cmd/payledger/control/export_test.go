package control

import "testing"

// WithoutDescriptors makes this process one of a system without /proc/self/fd, until the test ends.
func WithoutDescriptors(t *testing.T) {
	t.Helper()
	before := descriptors
	descriptors = t.TempDir() + "/none"
	t.Cleanup(func() { descriptors = before })
}
