package app

import (
	"context"
	"sync"
	"time"

	"payledger/eventstore/nodes"
	"payledger/httpapi"
)

// countsTopic begins the topic under which a node answers questions about its requests.
const countsTopic = "requests."

// countsTime bounds the wait for another node's counts.
const countsTime = time.Second

// shareCounts lets the other nodes read the counts of the requests that this node answered.
func (a *App) shareCounts(api *httpapi.API) error {
	if a.Nodes == nil {
		return nil
	}
	_, err := a.Nodes.AnswerTo(countsTopic+a.Nodes.Self.Node, func(_ context.Context, question []byte) []byte { return api.CountsFor(question) })
	return err
}

// otherCounts sends a question about counts of requests to each other node that serves.
func (a *App) otherCounts(ctx context.Context, question []byte) (answers [][]byte, silent int) {
	ctx, cancel := context.WithTimeout(ctx, countsTime)
	defer cancel()
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, node := range a.Nodes.Live() {
		if node.State != nodes.Serving || node.Node == a.Nodes.Self.Node {
			continue
		}
		all.Go(func() {
			answer, err := a.Nodes.Ask(ctx, countsTopic+node.Node, question, func() {})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				silent++
				a.log.Debug().Err(err).Str("node", node.Node).Msg("another node does not tell how many requests it answered")
				return
			}
			answers = append(answers, answer)
		})
	}
	all.Wait()
	return answers, silent
}
