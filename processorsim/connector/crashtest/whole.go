//go:build system

package crashtest

const whole = true
