// A small pipeline as one would write it in Go: one goroutine polls, a bulk indexer with several workers stores, and offsets
// are committed in order once their records are stored.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/elastic/go-elasticsearch/v9"
	"github.com/elastic/go-elasticsearch/v9/esutil"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	workers       = 4
	flushBytes    = 5 << 20
	flushInterval = 500 * time.Millisecond
	pollRecords   = 1_000
	// More than the workers' buffers hold: else everybody waits for the flush interval.
	pollsUnderWay = 32
)

// A poll whose records are on their way.
type poll struct {
	records []*kgo.Record
	unsaved sync.WaitGroup
}

type value struct {
	Revision   int64           `json:"revision"`
	Submission json.RawMessage `json:"submission"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	index := os.Getenv("INDEX")
	total, err := strconv.ParseInt(os.Getenv("RECORDS"), 10, 64)
	if err != nil {
		return fmt.Errorf("RECORDS: %w", err)
	}
	es, err := elasticsearch.NewClient(elasticsearch.Config{Addresses: []string{os.Getenv("ELASTICSEARCH_URL")}})
	if err != nil {
		return err
	}
	kafka, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(os.Getenv("KAFKA_BROKERS"), ",")...),
		kgo.ConsumerGroup(os.Getenv("CONSUMER_GROUP")),
		kgo.ConsumeTopics(os.Getenv("TOPIC")),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
	)
	if err != nil {
		return err
	}
	defer kafka.Close()
	indexer, err := esutil.NewBulkIndexer(esutil.BulkIndexerConfig{
		Client:        es,
		Index:         index,
		NumWorkers:    workers,
		FlushBytes:    flushBytes,
		FlushInterval: flushInterval,
		OnError:       func(_ context.Context, err error) { log.Print(err) },
	})
	if err != nil {
		return err
	}

	var stored atomic.Int64
	polls := make(chan *poll, pollsUnderWay)
	failed := make(chan error, 1)
	go func() {
		for done := range polls {
			done.unsaved.Wait()
			if err := kafka.CommitRecords(ctx, done.records...); err != nil {
				failed <- err
				return
			}
			if stored.Load() == total {
				if _, err := es.Indices.Refresh(es.Indices.Refresh.WithIndex(index)); err != nil {
					failed <- err
					return
				}
			}
		}
	}()

	for {
		fetches := kafka.PollRecords(ctx, pollRecords)
		if ctx.Err() != nil {
			return nil
		}
		if err := fetches.Err(); err != nil {
			return err
		}
		next := &poll{records: fetches.Records()}
		next.unsaved.Add(len(next.records))
		for _, record := range next.records {
			if err := add(ctx, indexer, record, next, &stored); err != nil {
				return err
			}
		}
		select {
		case polls <- next:
		case err := <-failed:
			return err
		}
	}
}

func add(ctx context.Context, indexer esutil.BulkIndexer, record *kgo.Record, of *poll, stored *atomic.Int64) error {
	var read value
	if err := json.Unmarshal(record.Value, &read); err != nil {
		return fmt.Errorf("%s: %w", record.Key, err)
	}
	team, _, _ := bytes.Cut(record.Key, []byte("/"))
	return indexer.Add(ctx, esutil.BulkIndexerItem{
		Action:      "index",
		DocumentID:  string(record.Key),
		Routing:     string(team),
		Version:     &read.Revision,
		VersionType: "external",
		Body:        bytes.NewReader(read.Submission),
		OnSuccess: func(context.Context, esutil.BulkIndexerItem, esutil.BulkIndexerResponseItem) {
			stored.Add(1)
			of.unsaved.Done()
		},
		OnFailure: func(_ context.Context, item esutil.BulkIndexerItem, answer esutil.BulkIndexerResponseItem, err error) {
			// A conflict means that what is stored is as new.
			if err == nil && answer.Status == 409 {
				stored.Add(1)
				of.unsaved.Done()
				return
			}
			log.Fatalf("%s: %d %s %v", item.DocumentID, answer.Status, answer.Error.Reason, err)
		},
	})
}
