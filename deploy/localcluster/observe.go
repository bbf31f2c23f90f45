package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

type sight struct {
	nodes   []nodeSight
	groups  uint64 // messages of the log, over all shards
	others  uint64 // messages of the other streams
	leaders int    // streams with a leader
	streams int
}

type nodeSight struct {
	name, address, state string
	streams, leads       int     // streams that this NATS server has, and that it leads
	lag                  uint64  // messages that this NATS server has yet to apply, over all streams
	requests             float64 // that this API node has answered
	reason               string  // why an API node is not ready
}

// jsz is the part of a NATS server's monitoring that shows streams.
type jsz struct {
	Accounts []struct {
		Streams []struct {
			Name  string `json:"name"`
			State struct {
				LastSeq uint64 `json:"last_seq"`
			} `json:"state"`
			Cluster struct {
				Leader   string `json:"leader"`
				Replicas []struct {
					Name string `json:"name"`
					Lag  uint64 `json:"lag"`
				} `json:"replicas"`
			} `json:"cluster"`
		} `json:"stream_detail"`
	} `json:"account_details"`
}

func (c *cluster) observe(ctx context.Context) sight {
	s := sight{nodes: make([]nodeSight, len(c.nodes))}
	answers := make([]jsz, len(c.nats))
	var reading sync.WaitGroup
	for i, n := range c.nodes {
		s.nodes[i] = nodeSight{name: n.name, address: n.at, state: n.condition()}
		if s.nodes[i].state == "gone" || s.nodes[i].state == "paused" {
			continue
		}
		if i < len(c.nats) {
			reading.Go(func() { s.nodes[i].ask(get(ctx, c.nats[i].monitor+"/jsz?streams=1&acc=LEDGER", &answers[i])) })
		}
		if api := i - len(c.nats) - 1; api >= 0 {
			reading.Go(func() { s.nodes[i].readAPI(ctx, c.apis[api].admin) })
		}
	}
	reading.Wait()
	s.add(answers)
	return s
}

func (n *node) condition() string {
	switch {
	case !n.child.running():
		return "gone"
	case n.paused:
		return "paused"
	case n.cut:
		return "cut off"
	case n.delay > 0:
		return "slow"
	default:
		return "up"
	}
}

// ask notes a node that did not answer.
func (n *nodeSight) ask(err error) {
	if err != nil && n.state == "up" {
		n.state = "silent"
	}
}

func (n *nodeSight) readAPI(ctx context.Context, admin string) {
	var health struct{ Reason string }
	status, err := readJSON(ctx, admin+"/readyz", &health)
	n.ask(err)
	if err == nil && status != http.StatusOK {
		n.reason = health.Reason
	}
	n.requests, err = sum(ctx, admin+"/metrics", "payledger_http_requests_total")
	n.ask(err)
}

// add adds up the answers of the NATS servers. The leader of a stream knows the lag of its
// replicas. A server that is cut off believes for some seconds that it leads: a stream can have two
// leaders.
func (s *sight) add(answers []jsz) {
	last, led, others := map[string]uint64{}, map[string]bool{}, map[string]uint64{}
	for i, answer := range answers {
		for _, account := range answer.Accounts {
			for _, stream := range account.Streams {
				s.nodes[i].streams++
				led[stream.Name] = led[stream.Name] || stream.Cluster.Leader == s.nodes[i].name
				if strings.HasPrefix(stream.Name, "LEDGER_") {
					shard := stream.Name[:strings.LastIndex(stream.Name, "_")] // its segments share one sequence
					last[shard] = max(last[shard], stream.State.LastSeq)
				} else {
					others[stream.Name] = max(others[stream.Name], stream.State.LastSeq)
				}
				if stream.Cluster.Leader != s.nodes[i].name {
					continue
				}
				s.nodes[i].leads++
				for _, replica := range stream.Cluster.Replicas {
					for j := range answers {
						if s.nodes[j].name == replica.Name && s.nodes[i].state == "up" {
							s.nodes[j].lag += replica.Lag
						}
					}
				}
			}
		}
	}
	s.streams = len(led)
	for _, one := range led {
		if one {
			s.leaders++
		}
	}
	for _, n := range last {
		s.groups += n
	}
	for _, n := range others {
		s.others += n
	}
}

func sum(ctx context.Context, url, metric string) (total float64, err error) {
	_, err = read(ctx, url, func(body io.Reader) error {
		lines := bufio.NewScanner(body)
		for lines.Scan() {
			name, value, found := strings.Cut(lines.Text(), " ")
			if before, _, _ := strings.Cut(name, "{"); found && before == metric {
				n, err := strconv.ParseFloat(value[strings.LastIndex(value, " ")+1:], 64)
				if err != nil {
					return fmt.Errorf("metric %s: %w", metric, err)
				}
				total += n
			}
		}
		return lines.Err()
	})
	return total, err
}
