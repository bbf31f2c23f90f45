// Command localcluster runs a whole cluster of payledger as processes on loopback (I1): three NATS
// servers with a log of three replicas, the processor simulator, and API nodes. The script
// deploy/local-cluster builds the programs and runs it.
//
//	deploy/local-cluster --data ./data --watch
//
// Rules:
//
//   - It prints one ready line on stdout, when every node takes requests. Its messages go to
//     stderr, the logs of its children to the folder logs in the data folder.
//   - The same data folder continues the same cluster. Credentials are in cluster.json there, which
//     only its user may read, and as variables for a shell in cluster.env.
//   - It ends its children in order on SIGTERM and SIGINT: API nodes, simulator, NATS servers. On
//     Linux the children end with it, however it ends.
//   - A child that ends by itself stays away until `start NODE` (with --watch), or until the next
//     start: the others go on without it.
//   - NATS servers use deploy/nats/jetstream.conf and accounts.conf, as in production. They trust
//     loopback: no TLS.
//
// Design: every connection between NATS servers, and between API nodes and NATS servers, goes
// through a listener of this process (link.go), one for each pair. `cut NODE` makes these links
// carry nothing, in both directions, without closing a connection: each side waits, as it does for
// a machine that nobody can reach. `heal` lets the held bytes go on, as TCP does after an outage.
// The processors' requests and the merchant's are not cut. `cut NODE OTHER` holds only the bytes
// from NODE to OTHER, `slow NODE` delays them. The alternative, network namespaces, needs root.
//
// TestFaults breaks such a cluster in random order under load: faults_kinds_test.go lists the
// faults, faults_load_test.go has the clients, faults_model_test.go the model of a payment,
// faults_check_test.go what must be true at the end. It runs for 15 seconds, or as long as
// -clusterfaults says:
//
//	PAYLEDGER_TEST_SEED=1 go test -tags system ./deploy/localcluster -run TestFaults -v -timeout 90m -clusterfaults 30m -progress FILE
//
// Runs beside each other get an address each (-faultaddress 127.0.0.2), so that none takes a port
// of another, and longer pauses of the clients (-faultpause 60ms) if the machine is small.
//
// The API nodes of the test are built with the tag clockoffset, so that their clocks can differ.
// Each server's copy of the log is verified as files: the folder of a NATS server's store has the
// layout of a single node's folder of events.
//
// deploy/measure-cluster measures such clusters, without links, beside deploy/yardstick: measure.go
// starts both, measure_figures.go has the figures, measure_table.go the table. It loads them with
// `payledger bench`. BENCHMARKS.md describes the rows.
//
// The tests that start such clusters have the build tag "system". They need Linux and Go, and take
// some minutes:
//
//	go test -tags system ./deploy/localcluster
//
// The package must not know: the log, the domain, and every package of payledger. It uses the
// programs as an operator does.
package main
