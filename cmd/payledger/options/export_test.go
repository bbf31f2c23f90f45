package options

// Functions for tests.
var (
	PrivateAdvice  = privateAdvice
	FolderFaultsOf = folderFaults
)
