//go:build system

package seedtest

const whole = true
