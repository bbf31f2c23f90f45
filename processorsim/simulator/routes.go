package simulator

import (
	"net/http"

	"github.com/gorilla/mux"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// routes lists the whole protocol and the control API (D14.1).
func (s *Simulator) routes() http.Handler {
	// Keys are raw path segments: no cleaning, no redirect.
	r := mux.NewRouter().UseEncodedPath().SkipClean(true)
	r.Handle("/v1/processors/{processor}", s.endpoint(s.getDeclaration)).Methods(http.MethodGet)
	operations := "/v1/processors/{processor}/operations"
	r.Handle(operations, s.endpoint(s.postOperation)).Methods(http.MethodPost)
	r.Handle(operations, s.endpoint(s.getOperations)).Methods(http.MethodGet)
	r.Handle(operations+"/{key}", s.endpoint(s.getOperation)).Methods(http.MethodGet)
	r.Handle(operations+"/{key}/fence", s.endpoint(s.postFence)).Methods(http.MethodPost)
	r.Handle("/v1/processors/{processor}/disputes", s.endpoint(s.getDisputes)).Methods(http.MethodGet)

	r.Handle("/sim/faults", s.endpoint(s.postFault)).Methods(http.MethodPost)
	r.Handle("/sim/faults", s.endpoint(s.getFaults)).Methods(http.MethodGet)
	r.Handle("/sim/faults", s.endpoint(s.deleteFaults)).Methods(http.MethodDelete)
	r.Handle("/sim/capture", s.endpoint(s.act(processor.Capture))).Methods(http.MethodPost)
	r.Handle("/sim/refund", s.endpoint(s.act(processor.Refund))).Methods(http.MethodPost)
	r.Handle("/sim/void", s.endpoint(s.act(processor.Void))).Methods(http.MethodPost)
	r.Handle("/sim/settle", s.endpoint(s.postSettle)).Methods(http.MethodPost)
	r.Handle("/sim/disputes", s.endpoint(s.postDispute)).Methods(http.MethodPost)
	r.Handle("/sim/disputes/{id}", s.endpoint(s.patchDispute)).Methods(http.MethodPatch)
	r.Handle("/sim/books", s.endpoint(s.getBooks)).Methods(http.MethodGet)

	r.NotFoundHandler = s.endpoint(func(http.ResponseWriter, *http.Request) error {
		return problem(http.StatusNotFound, protocol.CodeNotFound, "no such path")
	})
	r.MethodNotAllowedHandler = s.endpoint(func(http.ResponseWriter, *http.Request) error {
		return problem(http.StatusMethodNotAllowed, protocol.CodeMethodNotAllowed, "this path has no such method")
	})
	return r
}

func target(r *http.Request) (processor.Name, domain.OperationKey, error) {
	vars := mux.Vars(r)
	name, err := processorName(vars["processor"])
	if err != nil {
		return "", "", err
	}
	escaped, has := vars["key"]
	if !has {
		return name, "", nil
	}
	key, err := pathKey(escaped)
	return name, key, err
}
