package join

import "errors"

// Join returns an error that wraps all of errs that are not nil.
func Join(errs ...error) error { return errors.Join(errs...) }
