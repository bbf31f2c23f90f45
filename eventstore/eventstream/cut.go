package eventstream

import (
	"fmt"
	"os"

	"payledger/eventstore/blocks"
)

// cutDamaged cuts off the uncompressed blocks at their first bad record. The server must not run. A
// server that starts cuts at a wrong checksum, too. It trusts the length of a header, which the
// checksum does not cover, and reports nothing.
func (s *Server) cutDamaged() error {
	files, _ := blocks.Files(s.folder()) // none: there is no stream, or the server cannot read it either
	for i, f := range files {
		result, err := blocks.ReadBlock(f.Path, Name, blocks.Options{Deletes: true})
		if err != nil || result.Kind < blocks.Torn { // compressed; if it cannot be read, the server leaves the stream out
			continue
		}
		if err := os.Truncate(f.Path, result.End); err != nil {
			return fmt.Errorf("eventstream: %w", err)
		}
		torn := result.Kind == blocks.Torn && i == len(files)-1 // by a power failure
		if s.config.Cut != nil && !torn {
			s.config.Cut(result.Faults[0].String())
		}
	}
	return nil
}
