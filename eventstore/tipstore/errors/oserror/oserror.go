// Package oserror tells errors of files apart, wrapped ones too.
package oserror

import (
	"errors"
	"io/fs"
)

// The errors of the operating system.
var (
	ErrInvalid    = fs.ErrInvalid
	ErrPermission = fs.ErrPermission
	ErrExist      = fs.ErrExist
	ErrNotExist   = fs.ErrNotExist
)

// IsExist reports whether a file is there already.
func IsExist(err error) bool { return errors.Is(err, fs.ErrExist) }

// IsNotExist reports whether a file is missing.
func IsNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// IsPermission reports whether a permission is missing.
func IsPermission(err error) bool { return errors.Is(err, fs.ErrPermission) }
