package errors

import (
	"errors"
	"fmt"
)

// New returns an error with a text.
func New(text string) error { return errors.New(text) }

// Newf returns an error with a text; %w wraps an error.
func Newf(format string, args ...any) error { return fmt.Errorf(format, args...) }

// Errorf is Newf.
func Errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }

// AssertionFailedf returns the error of a fault in the program.
func AssertionFailedf(format string, args ...any) error { return fmt.Errorf(format, args...) }

// Safe returns a value of a text that has no secret.
func Safe(value any) any { return value }

// Is reports whether err is target, wraps it, or is marked with it.
func Is(err, target error) bool { return errors.Is(err, target) }

// As finds the first error that target can hold.
func As(err error, target any) bool { return errors.As(err, target) }

// Join returns an error that wraps all of errs that are not nil.
func Join(errs ...error) error { return errors.Join(errs...) }

// UnwrapAll returns the innermost error.
func UnwrapAll(err error) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}

// Wrap returns err with a text before its own. nil stays nil.
func Wrap(err error, text string) error {
	if err == nil {
		return nil
	}
	return &wrapped{text + ": " + err.Error(), err}
}

// Wrapf is Wrap with a formatted text.
func Wrapf(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return Wrap(err, fmt.Sprintf(format, args...))
}

type wrapped struct {
	text  string
	inner error
}

func (w *wrapped) Error() string { return w.text }
func (w *wrapped) Unwrap() error { return w.inner }

// Mark returns err, of which Is says that it is reference, too. nil stays nil.
func Mark(err, reference error) error {
	if err == nil {
		return nil
	}
	return &marked{err, reference}
}

type marked struct{ inner, reference error }

func (m *marked) Error() string        { return m.inner.Error() }
func (m *marked) Unwrap() error        { return m.inner }
func (m *marked) Is(target error) bool { return errors.Is(m.reference, target) }

// CombineErrors returns the first of two errors that is not nil.
func CombineErrors(err, other error) error {
	if err == nil {
		return other
	}
	return err
}

// WithStack returns err.
func WithStack(err error) error { return err }

// WithSecondaryError returns err.
func WithSecondaryError(err, _ error) error { return err }

// WithDetailf returns err.
func WithDetailf(err error, _ string, _ ...any) error { return err }

// WithHintf returns err.
func WithHintf(err error, _ string, _ ...any) error { return err }

// WithSafeDetails returns err.
func WithSafeDetails(err error, _ string, _ ...any) error { return err }
