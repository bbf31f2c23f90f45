package server

import (
	"net/http"

	"github.com/gorilla/mux"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// routes lists the whole protocol (D14.1).
func (s *Server) routes() {
	// Keys are raw path segments: no cleaning, no redirect.
	s.router = mux.NewRouter().UseEncodedPath().SkipClean(true)
	one := "/v1/processors/{processor}"
	s.Handle(http.MethodGet, one, s.getDeclaration)
	s.Handle(http.MethodPost, one+"/operations", s.postOperation)
	s.Handle(http.MethodGet, one+"/operations", s.getOperations)
	s.Handle(http.MethodGet, one+"/operations/{key}", s.getOperation)
	s.Handle(http.MethodPost, one+"/operations/{key}/fence", s.postFence)
	s.Handle(http.MethodGet, one+"/disputes", s.getDisputes)

	s.router.NotFoundHandler = s.endpoint(func(http.ResponseWriter, *http.Request) error {
		return Problem(http.StatusNotFound, protocol.CodeNotFound, "no such path")
	})
	s.router.MethodNotAllowedHandler = s.endpoint(func(http.ResponseWriter, *http.Request) error {
		return Problem(http.StatusMethodNotAllowed, protocol.CodeMethodNotAllowed, "this path has no such method")
	})
}

// named returns the processor of the path.
func (s *Server) named(r *http.Request) (processor.Name, error) {
	name := processor.Name(mux.Vars(r)["processor"])
	if _, serves := s.books.Declaration(name); !serves {
		return "", Problem(http.StatusNotFound, protocol.CodeNotFound, "no such processor")
	}
	return name, nil
}

// keyed returns the processor and the key of the path.
func (s *Server) keyed(r *http.Request) (processor.Name, domain.OperationKey, error) {
	name, err := s.named(r)
	if err != nil {
		return "", "", err
	}
	key, err := pathKey(mux.Vars(r)["key"])
	return name, key, err
}

func (s *Server) getDeclaration(w http.ResponseWriter, r *http.Request) error {
	name, err := s.named(r)
	if err != nil {
		return err
	}
	declaration, _ := s.books.Declaration(name)
	return Respond(w, declaration, nil)
}
