package dispute

import "fmt"

// Check returns an error if the accepted facts are not a way of D16 that ends at Current.
func (s State) Check() error {
	way := s.way()
	for i := 1; i < len(way); i++ {
		if before, after := way[i-1].Place(), way[i].Place(); !before.LeadsTo(after) {
			return fmt.Errorf("%s does not lead to %s", before, after)
		}
	}
	if s.Exists() && (len(way) == 0 || way[len(way)-1].Place() != s.Current.Place()) {
		return fmt.Errorf("the dispute shows %s, which is not the end of its way", s.Current.Place())
	}
	return nil
}
