package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

const (
	socketName = "control.sock"
	// folderHeader is the header of an answer that names the service's data folder.
	folderHeader = "Payledger-Data"
	// identityHeader is the header of an answer that identifies this folder under any path.
	identityHeader = "Payledger-Data-Identity"
	headerTimeout  = 10 * time.Second
)

// Server listens on the socket of a data folder.
type Server struct {
	http    *http.Server
	link    string // in the data folder
	private string // the temporary folder of a socket that a link leads to, or ""
	served  chan error
}

// Listen listens on the socket of a data folder. The caller must hold the folder's lock: Listen
// replaces a socket without a listening process. handler serves the commands.
func Listen(ctx context.Context, data string, handler http.Handler) (*Server, error) {
	folder, err := filepath.Abs(data)
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	if _, err := Find(ctx, folder); err == nil {
		return nil, fmt.Errorf("another service runs on %s and listens on %s: stop it first", data, filepath.Join(data, socketName))
	}
	s := &Server{link: filepath.Join(folder, socketName), served: make(chan error, 1)}
	listener, err := s.listen(ctx, folder)
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	s.http = &http.Server{Handler: named(folder, handler), ReadHeaderTimeout: headerTimeout}
	go func() { s.served <- s.http.Serve(listener) }()
	return s, nil
}

// listen binds the socket in a folder that only this user can enter. It sets the socket's mode, and
// then moves the socket to its place.
func (s *Server) listen(ctx context.Context, folder string) (net.Listener, error) {
	room, err := os.MkdirTemp(folder, ".control-")
	if err != nil {
		return nil, err
	}
	path, done, err := shortened(room)
	defer done()
	linked := errors.Is(err, errTooLong)
	if linked {
		if err = os.Remove(room); err == nil {
			room, err = os.MkdirTemp("", "payledger-")
		}
		path, s.private = filepath.Join(room, socketName), room
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(room))
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(room))
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	bound := filepath.Join(room, socketName)
	err = os.Chmod(bound, 0o600)
	if err == nil && linked {
		bound = filepath.Join(folder, ".control-link")
		if err = os.Remove(bound); err == nil || errors.Is(err, os.ErrNotExist) {
			err = os.Symlink(filepath.Join(room, socketName), bound)
		}
	}
	if err == nil {
		err = os.Rename(bound, s.link)
	}
	if err == nil && !linked {
		err = os.Remove(room)
	}
	if err != nil {
		return nil, errors.Join(err, listener.Close(), os.RemoveAll(room))
	}
	return listener, nil
}

func named(folder string, handler http.Handler) http.Handler {
	id := identity(folder)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(folderHeader, folder)
		w.Header().Set(identityHeader, id)
		handler.ServeHTTP(w, r)
	})
}

// Stop removes the socket and waits for the running commands. When ctx ends, it cancels their
// contexts.
func (s *Server) Stop(ctx context.Context) error {
	err := os.Remove(s.link)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if stopped := s.http.Shutdown(ctx); stopped != nil {
		err = errors.Join(err, s.http.Close())
	}
	if served := <-s.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if s.private != "" {
		err = errors.Join(err, os.RemoveAll(s.private))
	}
	return err
}

type line struct {
	Line  json.RawMessage `json:"line"`
	Done  json.RawMessage `json:"done"`
	Error string          `json:"error"`
}

// Command returns the handler of a command. do receives the decoded body, calls emit with each line
// of the answer, and returns the last line. The context of do ends when the client disconnects.
func Command[In any](do func(ctx context.Context, in In, emit func(any) error) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.Error(w, "POST", http.StatusMethodNotAllowed)
			return
		}
		out, send := json.NewEncoder(w), http.NewResponseController(w)
		write := func(field string, value any) error {
			if err := out.Encode(map[string]any{field: value}); err != nil {
				return fmt.Errorf("control: %w", err)
			}
			return send.Flush()
		}
		var in In
		err := json.NewDecoder(r.Body).Decode(&in)
		var done any
		if err == nil {
			done, err = do(r.Context(), in, func(value any) error { return write("line", value) })
		}
		if err == nil {
			err = write("done", done)
		}
		if err != nil {
			_ = write("error", err.Error()) // the client may have disconnected
		}
	})
}
