// Package eventstoretest is the test kit of the log: stores on embedded servers, secrets under a
// fixed key, and generated payments.
//
// Its stores, servers and files are real: tests of other packages run on the same code as the
// service. Only tests import it.
package eventstoretest

import _ "payledger/domain/scratchtest" // stores of tests are in the folder that it makes
