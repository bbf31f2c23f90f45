//go:build !unix

package limits

// PrivateFiles does nothing: the system has no modes of files.
func PrivateFiles() {}
