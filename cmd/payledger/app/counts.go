package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"payledger/eventstore/nodes"
	"payledger/httpapi"
)

// Beginnings of the topics under which a node answers questions about the requests that it
// answered: about their counts, and about single ones.
const (
	countsTopic   = "requests."
	requestsTopic = "request-log."
)

// countsTime bounds the wait for another node's answer.
const countsTime = time.Second

// shareCounts lets the other nodes read the counts of the requests that this node answered, and the
// newest of them.
func (a *App) shareCounts(api *httpapi.API) error {
	if a.Nodes == nil {
		return nil
	}
	_, counts := a.Nodes.AnswerTo(countsTopic+a.Nodes.Self.Node, func(_ context.Context, question []byte) []byte { return api.CountsFor(question) })
	_, requests := a.Nodes.AnswerTo(requestsTopic+a.Nodes.Self.Node, func(_ context.Context, question []byte) []byte { return api.RequestsFor(question) })
	return errors.Join(counts, requests)
}

// otherCounts sends a question about counts of requests to each other node that serves.
func (a *App) otherCounts(ctx context.Context, question []byte) (answers [][]byte, silent int) {
	return a.others(ctx, countsTopic, question)
}

// otherRequests sends a question about single requests to each other node that serves.
func (a *App) otherRequests(ctx context.Context, question []byte) (answers [][]byte, silent int) {
	return a.others(ctx, requestsTopic, question)
}

func (a *App) others(ctx context.Context, topic string, question []byte) (answers [][]byte, silent int) {
	ctx, cancel := context.WithTimeout(ctx, countsTime)
	defer cancel()
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, node := range a.Nodes.Live() {
		if node.State != nodes.Serving || node.Node == a.Nodes.Self.Node {
			continue
		}
		all.Go(func() {
			answer, err := a.Nodes.Ask(ctx, topic+node.Node, question, func() {})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				silent++
				a.log.Debug().Err(err).Str("node", node.Node).Msg("another node does not tell which requests it answered")
				return
			}
			answers = append(answers, answer)
		})
	}
	all.Wait()
	return answers, silent
}
