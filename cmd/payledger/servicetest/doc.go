// Package servicetest tests the service as a value, in the test's process: what no package can show
// alone. A promise of one package has its test there, unless that package needs the whole service
// to link, as metrics: then its tests stand here.
package servicetest
