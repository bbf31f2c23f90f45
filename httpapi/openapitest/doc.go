// Package openapitest checks HTTP answers against openapi.yaml, in tests of any package.
//
// An answer must have a status that its operation documents, that answer's headers, and a body that
// fits its schema with all fields. Answers for paths and methods that the document does not have
// must be errors of D3. An answer that differs is a fault of the service or of the document, which
// is published.
//
// The package must not know: how answers are made.
package openapitest
