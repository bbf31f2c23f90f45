package audit

import "strings"

// serverError is a server's error answer to a client command (D3).
type serverError struct {
	ErrorID            string `json:"errorId"`
	Description        string `json:"description"`
	RecoverySuggestion string `json:"recoverySuggestion"`
	ValidationErrors   []struct {
		Model  string `json:"model"`
		Errors []struct {
			Path        string `json:"path"`
			Description string `json:"description"`
		} `json:"errors"`
	} `json:"validationErrors"`
}

// Error returns one line with the error, and every violation or the recovery suggestion.
func (e serverError) Error() string {
	parts := []string{e.ErrorID + ": " + e.Description}
	for _, group := range e.ValidationErrors {
		for _, v := range group.Errors {
			parts = append(parts, group.Model+" "+v.Path+" "+v.Description+".")
		}
	}
	if e.RecoverySuggestion != "" && len(e.ValidationErrors) == 0 { // else it names a field of the answer, which is printed here
		parts = append(parts, e.RecoverySuggestion)
	}
	return strings.Join(parts, " ")
}
