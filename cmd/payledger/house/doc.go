// Package house has the rules of this tree as tests. This page lists every rule with its reason,
// and what to do when a change meets it. A failed test ends with its entry on this page.
//
// A limit is there to make the author think before the code grows past it. It forbids nothing that
// the ledger needs: where the advice under "What to do" does not help, change the rule and its
// reason on this page, in the same commit.
//
// It must not know: how the service works. The tests read the files of the tree, and run none of
// its code except domain's lists of values.
//
// # TestPage: a rule has a reason
//
// Each rule is checked by a test of this folder, and this page has an entry for each test: the
// rule, its reason and what to do. The folder has no Go file except this page and tests.
//
// Reason: an author who meets a rule without a reason can only work around it.
//
// What to do: write the entry of a new test on this page, and begin the test with check. Delete
// both together.
//
// # TestLayout: the root shows the parts of the project
//
// The top-level folders are those of mayImport, and dot-folders. The root has no Go file.
//
// Reason: the root is the first page that a reader sees. A folder for helpers of everything has no
// subject, and grows.
//
// What to do: put the code into the folder whose subject it is. A new part of the system gets its
// row in mayImport, in the README's map and in the table of imports in cmd/payledger/doc.go.
//
// # TestImports: folders import in one direction
//
// A top-level folder imports only the folders in its row of mayImport. Tests may import every
// folder, but only cmd imports cmd.
//
// Reason: the money rules can be read and tested without the log, and the log without HTTP. The
// folders httpapi, notifier and processorsim never import each other, so each can change alone.
//
// What to do: move the shared value down into the folder that both may import, or let cmd pass a
// function or an interface to the upper folder.
//
// # TestDrawnImports: the command's page has the same table
//
// The table of imports in cmd/payledger/doc.go equals mayImport.
//
// Reason: a reader learns the direction of imports from this table.
//
// What to do: change the table's row together with mayImport.
//
// # TestConfined: third-party packages stay in few folders
//
// Only the folders in a package's row of confined import it. Tests are excepted.
//
// Reason: a library can be replaced, and its faults can be found, where few folders use it.
//
// What to do: use the folder that wraps the library. A new large library gets a row.
//
// # TestApart: the service does not link the simulator
//
// The two folders of each pair in apart do not import each other, nor folders below the other.
//
// Reason: the service must not contain the simulator's server.
//
// What to do: move the shared values into a folder of their own, as processorsim/protocol.
//
// # TestVendors: the ledger names no processor's vendor
//
// Only the files and folders in mayNameVendors name a vendor, tests aside.
//
// Reason: a processor is a program that speaks the protocol. Code for one vendor makes the next one
// a change of the ledger.
//
// What to do: range over processor.Names, or let the connector answer in the protocol's own terms.
//
// # TestEngine: a change of the log's implementation compiles few packages
//
// Only the folders in openers import eventstore/engine and eventstore/tipstore/tipfiles, tests
// aside. Only tipfiles imports Pebble. The folder eventstore imports of this project only domain
// and the folders in plain.
//
// Reason: Go compiles each importer of a changed package again. Nearly every package imports
// eventstore. When that package had the implementation, a changed line of it made 58 packages of
// the program compile again; now it makes 2 to 9. And each program links what its packages import:
// with Pebble in package tipstore, 20 test programs without a tip store linked it, a second of CPU
// time each.
//
// What to do: take an eventstore.Store, or a tipstore.Store. A method of the engine that is missing
// there goes into the interface, unless its types reach JetStream or the tip store: then name an
// interface in the package that needs it, as ordered.Store. A package that opens a log or a tip
// store gets a place in openers.
//
// # TestFileReaders: few files know the server's files
//
// Only the files in fileReaders import eventstore/blocks, tests aside.
//
// Reason: the files of nats-server are its private format, and change with its versions. Everything
// that a running server can answer is read from it.
//
// What to do: take the messages as values of package stored.
//
// # TestFloors: imports inside the event store go down
//
// A package of eventstore imports packages of its own floor and of lower ones; floors has them. The
// first page, eventstore/doc.go, draws them.
//
// Reason: the application calls processors and knows why something is recorded. A reader of the log
// must be able to leave it out, and to learn the floors one after the other.
//
// What to do: the lower floor gets what it must do as a value or a function. A new package gets its
// place in floors; go test ./cmd/payledger/house -args -draw draws it.
//
// # TestPlaces: each package of the store draws its place
//
// The file doc.go of each package of eventstore outside eventstore/commands has a drawing of its
// importers and imports, by floors.
//
// Reason: a reader who arrives in a package sees what it stands on, and what stands on it.
//
// What to do: go test ./cmd/payledger/house -args -draw. The comment of a package belongs into
// doc.go.
//
// # TestPureDecisions: a decision is a function of the state
//
// Below eventstore/commands, a function that is given to Execute and its kin, see deciding, does
// not use a context.
//
// Reason: a decision may run 16 times, on different states, and the last one counts: a load or an
// append inside it may belong to an earlier one.
//
// What to do: load before, and append before or after, each as a step of its own.
// payments/operation_run.go claims a key in this way.
//
// # TestTestFolders: code for tests stays out of the programs
//
// A folder is for tests if its name or the name of a folder above it ends in "test", or is
// "testdata". Only tests and such folders import it. It imports no folder whose tests import it,
// except the folder above it. A folder in together may also import the other folders below that
// one.
//
// Reason: a program must not contain code for tests. A test inside a package cannot import a folder
// that imports this package: that is a cycle. A folder in together starts packages that work only
// together: their tests that import it are external (package payments_test).
//
// What to do: move code that a program needs out of the folder for tests. Let the test pass a
// function to a helper that would import its user.
//
// # TestSeeds: the tests have the same seeds in each run
//
// Tests with random input take their seed from package seedtest.
//
// Reason: an old fault that a new seed finds must not refuse an innocent change.
//
// What to do: use seedtest.Check in the place of rapid.Check, and seedtest.Seed for other seeds.
//
// # TestDomainIsPure: the money rules depend on nothing
//
// The folder domain imports only itself and the packages in pure: no I/O, clock, randomness or
// encoding. It starts no goroutine, prints nothing and does not read the clock. Its tests may also
// import the whole standard library and the packages in helpers. The package in decoders may import
// encoding/json: the same text gives the same value.
//
// Reason: equal inputs give equal events. So an old event can be evaluated again, and a rule is
// tested in microseconds.
//
// What to do: let the time, an id or a processor's answer arrive in the command. Code that needs
// I/O belongs above domain.
//
// # TestExactJSON: one package reads JSON that a signature or a decision depends on
//
// The folders in exact do not decode with encoding/json: they use package exactjson.
//
// Reason: encoding/json takes a field in any case, and the last of two equal names. A proof with
// the names "events" and "Events" showed other events than were checked, and a processor's field
// "STATE" replaced its "state".
//
// What to do: decode with exactjson.Unmarshal, or with UnmarshalStrict where no other name may
// stand. json.RawMessage, json.Decoder.Token and a stream of json.RawMessage are allowed. Add a
// folder that reads such texts to exact.
//
// # TestAggregates: aggregates do not import each other
//
// A folder of domain is an aggregate if it is not listed in beside. An aggregate imports the root
// of domain and domain/processor, and no other folder of domain. The root imports none of its
// folders.
//
// Reason: the log decides about one aggregate at a time. A rule about two of them would be false
// after a crash between their events.
//
// What to do: put the rule about several aggregates into domain/process or into a package of
// eventstore/commands, or pass the value in the command. A folder that is no aggregate gets a row
// in beside, with its purpose.
//
// # TestResults: results have names
//
// A function outside tests returns at most 2 values, its error and a last bool aside, and no two
// bools beside each other.
//
// Reason: a caller of e, found, mustRead, wakeAt := pick() must look up each of them; a type says
// it at the call.
//
// What to do: return a struct, or named constants, as tried in eventstore/commands/payments.
//
// # TestComments: a comment fits beside another file
//
// A line of a comment has at most 100 columns, a tab counts as four. Lines behind a tab (tables,
// commands) are excepted.
//
// Reason: the eye loses the line in a wider text, and a reader has two files beside each other.
//
// What to do: break the line.
//
// # TestRulesSize: an aggregate can be reviewed as a whole
//
// A folder of domain has at most 2,500 lines of code. Comments, empty lines, tests and generated
// files do not count. There is no limit for all of domain, and none for its number of files: a new
// aggregate gets a folder, and each operation of an aggregate gets a file.
//
// Reason: a reviewer of a money rule must know all rules of the aggregate. Code that is no rule
// (texts, rendering, special cases of one processor) has to be read as carefully, if it stands
// there.
//
// What to do: look for code that is no rule, and move it to the folder that uses it. If a part of
// the aggregate has commands and a status of its own, as a dispute has, make it an aggregate. If
// all of it is needed, raise the limit in a commit that names the operation.
//
// # TestObjects: an import of the event store is cheap
//
// The compiled object of a small package that imports the event store has at most 2500 kB.
//
// Reason: the compiler compiles generic code again in each package that reaches it by the types it
// imports. When the types of eventstore reached those of nats-server and Pebble, such an object had
// 13,000 kB, and half of the build's CPU time went into them.
//
// What to do: hide the new type behind an interface that names no type of the library, as package
// tipstore does for Pebble (tipstore.DB). Give a generic type few methods, and move its work into a
// function without type parameters, as format.Core and Aggregate.
//
// # TestFolderSize: a folder has one subject
//
// A folder has at most 20 Go files, tests aside. Folders of domain are excepted: TestRulesSize
// limits them.
//
// Reason: a reader finds a subject by the names of the files, and the list of names must fit on one
// screen. A longer list has several subjects.
//
// What to do: move the files of one subject into a folder below, with few exported names. Do not
// join files of different subjects: the folder has one file less and is as hard to read.
//
// # TestFileSize: files are short
//
// A file has at most 400 lines, a test at most 800. Generated files are excepted, and a file whose
// package line has //house:exempt and a reason, as a table.
//
// Reason: a file is read as a whole. Most files here have 60 to 250 lines.
//
// What to do: split the file by subject. If the parts need many common names, make the subject a
// type.
//
// # TestFunctionSize: functions are short
//
// A function has at most 70 lines, in a test at most 120 with its table. Generated files are
// excepted, and a function whose func line has //house:exempt and a reason, as a table.
//
// Reason: a reader keeps a function in mind as a whole. Most functions here have less than 40
// lines.
//
// What to do: give a step of the function a name. Move a test's table into a variable.
//
// # TestThirds: every whole-system test runs in CI
//
// Each folder with a test behind the build tag system, or with a test that takes a sample without
// it, is in one of the thirds of .ci/run.
//
// Reason: a test that no step runs shows nothing.
//
// What to do: add the folder to the third that takes the shortest time.
//
// # TestSequential: the race detector tests everything that is concurrent
//
// The packages that .ci/run does not test under the race detector start no goroutine, and do not
// import sync.
//
// Reason: the race detector makes tests slow. It finds nothing in a package without concurrency.
//
// What to do: take the package out of the list "sequential" in .ci/run.
//
// # TestPackageComments: a package has a description
//
// Every package has exactly one package comment.
//
// Reason: the comment has the purpose, the rules and the decisions of a package. A reader looks for
// it in doc.go.
//
// What to do: write doc.go: what it is, its rules with references to CONTRACT.md, what it must not
// know, and design notes.
//
// # TestDocComments: an exported name has a comment
//
// Every exported name has a comment. A comment on a group of constants or on a row of functions
// counts for all of them, and the comment of a type for the constants right below it. Methods that
// their interface explains need none.
//
// Reason: an importer reads the comment, not the code.
//
// What to do: write the unit, the range and the errors that a caller cannot see in the signature,
// or do not export the name.
//
// # TestFunctionComments: the comment of a function begins with its name
//
// A comment right above a function begins with the name of the function. Examples, which the
// documentation shows with their comments, and init are excepted.
//
// Reason: a comment that keeps the old name after a function was renamed sends a reader to a
// function that does not exist.
//
// What to do: begin with the name: "end returns …" for a function, "TestHold: a hold ends by
// itself" for a test.
//
// # TestDependencies: a dependency has a reason
//
// Every imported module is a direct requirement in go.mod and has a reason in
// deploy/DEPENDENCIES.md, which has no others.
//
// Reason: somebody must trust, update and build each module.
//
// What to do: run go mod tidy, and write the module's row in deploy/DEPENDENCIES.md or remove it.
//
// # TestContract: code and contract refer to each other
//
// Every reference in a comment (a section, D or I with a number) resolves in httpapi/CONTRACT.md.
// Code or a test refers to every rule there, or the rule is in notYet with a reason.
//
// Reason: a rule without a reference is not implemented, or nobody can find where.
//
// What to do: write the reference at the line that implements the rule. If the contract changed,
// correct the references.
//
// # TestOpenAPIEnums: lists of values are the contract's
//
// Every list of values in httpapi/openapi.yaml equals a list of the contract, or is in ownEnums
// with its meaning.
//
// Reason: a client is generated from openapi.yaml. A missing value makes it fail on a valid answer.
//
// What to do: copy the list of domain/testdata/enums.json. A list that only this service has gets a
// row in ownEnums.
//
// # TestLanguage: comments are plain English
//
// No comment has a phrase from riddles.
//
// Reason: a reader whose first language is not English understands each sentence at the first
// reading.
//
// What to do: write the sentence again with the subject, the verb and the object. The failure names
// an alternative.
//
// # TestForbiddenWords: the tree needs no special machine and has no open ends
//
// Code, documents, configuration and scripts have no word from forbidden: fixed pauses, tests that
// are left out, notes about unfinished work, paths of one machine, hosts of registries, names of
// documents that the repository does not have, and asserts of Python. Folders named testdata are
// excepted, except for Python.
//
// Reason: the tree must work on every machine, and its tests must show what they claim.
//
// What to do: wait for a signal, finish the work or remove it, and take paths from flags. The
// failure names the reason of each word.
package house
