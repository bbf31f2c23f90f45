package oserror

import (
	"errors"
	"io/fs"
)

// The errors of package fs.
var (
	ErrInvalid    = fs.ErrInvalid
	ErrPermission = fs.ErrPermission
	ErrExist      = fs.ErrExist
	ErrNotExist   = fs.ErrNotExist
	ErrClosed     = fs.ErrClosed
)

// IsPermission reports whether err says that something is not allowed.
func IsPermission(err error) bool { return errors.Is(err, ErrPermission) }

// IsExist reports whether err says that a file exists.
func IsExist(err error) bool { return errors.Is(err, ErrExist) }

// IsNotExist reports whether err says that a file does not exist.
func IsNotExist(err error) bool { return errors.Is(err, ErrNotExist) }
