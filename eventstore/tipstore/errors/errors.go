// Package errors takes the place of github.com/cockroachdb/errors, which sends errors to other processes and to Sentry. Pebble and its
// libraries use it for errors in one process. The build took 16 seconds of CPU time more, most of them for protobuf types. This package has
// the functions that they call. Errors have no stack traces, and the details of an error are a part of its text.
package errors

import (
	"errors"
	"fmt"
)

// The functions of the standard library. A nil error is not in an error of Join.
var (
	New = errors.New
	Is  = errors.Is
	As  = errors.As
)

// Join returns an error with the texts of several, nil if all are nil.
func Join(errs ...error) error { return errors.Join(errs...) }

// Newf formats an error. %w wraps an argument.
func Newf(format string, args ...any) error { return fmt.Errorf(format, args...) }

// Errorf is Newf.
func Errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }

// AssertionFailedf formats an error of something that the program takes for impossible.
func AssertionFailedf(format string, args ...any) error {
	return fmt.Errorf("assertion failed: "+format, args...)
}

// Safe marks an argument that may be sent to other processes. Nothing is sent.
func Safe(v any) any { return v }

// WithStack returns err.
func WithStack(err error) error { return err }

// Wrap puts a text before an error; nil stays nil.
func Wrap(err error, text string) error {
	if err == nil {
		return nil
	}
	return &with{text: text + ": " + err.Error(), error: err}
}

// Wrapf is Wrap with a formatted text.
func Wrapf(err error, format string, args ...any) error {
	return Wrap(err, fmt.Sprintf(format, args...))
}

// WithDetailf puts a formatted detail after an error's text; nil stays nil.
func WithDetailf(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &with{text: err.Error() + " (" + fmt.Sprintf(format, args...) + ")", error: err}
}

// WithHintf is WithDetailf.
func WithHintf(err error, format string, args ...any) error { return WithDetailf(err, format, args...) }

// WithSafeDetails is WithDetailf.
func WithSafeDetails(err error, format string, args ...any) error {
	return WithDetailf(err, format, args...)
}

// with is an error with another text.
type with struct {
	text string
	error
}

func (w *with) Error() string { return w.text }
func (w *with) Unwrap() error { return w.error }

// Mark makes an error for which Is(err, reference) is true. Its text does not change; nil stays nil.
func Mark(err, reference error) error {
	if err == nil {
		return nil
	}
	return &marked{err, reference}
}

type marked struct{ error, reference error }

func (m *marked) Error() string        { return m.error.Error() }
func (m *marked) Unwrap() error        { return m.error }
func (m *marked) Is(target error) bool { return Is(m.reference, target) }

// WithSecondaryError adds the text of an error that happened while err was handled. It is not wrapped.
func WithSecondaryError(err, other error) error {
	if err == nil || other == nil {
		return err
	}
	return WithDetailf(err, "then %v", other)
}

// CombineErrors returns the error that is not nil, or err with other as secondary error.
func CombineErrors(err, other error) error {
	if err == nil {
		return other
	}
	return WithSecondaryError(err, other)
}

// UnwrapAll returns the innermost error.
func UnwrapAll(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
