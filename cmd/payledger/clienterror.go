package main

import (
	"errors"
	"os"
	"slices"
	"strings"
)

// serverError is an error that a server answered a client command with (D3).
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

// Error returns one line with the error, every violation, and the recovery suggestion.
func (e serverError) Error() string {
	parts := []string{e.ErrorID + ": " + e.Description}
	for _, group := range e.ValidationErrors {
		for _, v := range group.Errors {
			parts = append(parts, group.Model+" "+v.Path+" "+v.Description+".")
		}
	}
	if e.RecoverySuggestion != "" {
		parts = append(parts, e.RecoverySuggestion)
	}
	return strings.Join(parts, " ")
}

// has reports whether a flag is among the arguments.
func (args arguments) has(flag string) bool {
	return slices.ContainsFunc(args, func(arg string) bool { return arg == flag || strings.HasPrefix(arg, flag+"=") })
}

// readsFolder reports whether a client command reads the folder of a stopped server instead of a running one. A flag wins
// over the environment; both flags, or both variables without a flag, are refused.
func (args arguments) readsFolder(data string) (bool, error) {
	folder, server := args.has("--data"), args.has("--url")
	switch {
	case folder && server:
		return false, usageError{errors.New("--data reads a stopped server's folder and --url a running server: leave one of them out")}
	case folder != server:
		return folder, nil
	case data != "" && os.Getenv("PAYLEDGER_URL") != "":
		return false, usageError{errors.New("PAYLEDGER_DATA and PAYLEDGER_URL are both set: say with --data or --url which one to read")}
	}
	return data != "", nil
}
