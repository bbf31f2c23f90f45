// Package join is a part of package errors.
package join

import "errors"

// Join returns an error with the texts of several, nil if all are nil.
func Join(errs ...error) error { return errors.Join(errs...) }
