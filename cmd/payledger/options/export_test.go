package options

// PrivateAdvice is privateAdvice for tests.
var PrivateAdvice = privateAdvice
