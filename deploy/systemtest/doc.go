// Package systemtest tests the files of deploy with the programs that read them. Every test has the
// build tag "system":
//
//	go test -tags system ./deploy/systemtest
//
// The tests need Linux, Go, the network for modules that go.mod does not name, and the programs
// haproxy, openssl, systemd-analyze and PostgreSQL. Where a program is missing, its test logs that
// and ends; with CI in the environment it fails. The tests of package deploy need Go only.
//
//   - TestImage: the image of the Dockerfile, in namespaces of its own.
//   - TestCompose, TestKubernetes: compose.yaml and the manifests, with the libraries of their
//     programs.
//   - TestMetrics: alerts and dashboard, with a service that runs.
//   - TestProxy, TestCertificates, TestUnits: the proxy's configuration, the script for
//     certificates, the units.
//   - TestYardstick: the module of deploy/yardstick.
//
// The package must not know: the packages of payledger. It uses the programs as an operator does.
package systemtest
