// A server of the published airport-go: main.go ADDRESS ROWS FILTERS
//
// It serves the rows of an Arrow file as the table main.t. The library parses the filters of every
// scan and writes them as SQL, which is appended to the file FILTERS. Every scan returns all rows.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	airport "github.com/hugr-lab/airport-go"
	"github.com/hugr-lab/airport-go/catalog"
	"github.com/hugr-lab/airport-go/filter"
	"google.golang.org/grpc"
)

func main() {
	address, rows, filters := os.Args[1], os.Args[2], os.Args[3]
	file, err := os.Open(rows)
	check(err)
	reader, err := ipc.NewFileReader(file)
	check(err)
	var batches []arrow.RecordBatch
	for i := range reader.NumRecords() {
		batch, err := reader.RecordBatch(i)
		check(err)
		batch.Retain() // the reader releases it when it reads the next one
		batches = append(batches, batch)
	}
	record, err := os.OpenFile(filters, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	check(err)

	scan := func(_ context.Context, options *catalog.ScanOptions) (array.RecordReader, error) {
		if len(options.Filter) > 0 {
			parsed, err := filter.Parse(options.Filter)
			if err != nil {
				return nil, err
			}
			fmt.Fprintln(record, filter.NewDuckDBEncoder(nil).EncodeFilters(parsed))
		}
		return array.NewRecordReader(reader.Schema(), batches)
	}
	table := airport.SimpleTableDef{Name: "t", Schema: reader.Schema(), ScanFunc: scan}
	tables, err := airport.NewCatalogBuilder().Schema("main").SimpleTable(table).Build()
	check(err)

	listener, err := net.Listen("tcp", address)
	check(err)
	server := grpc.NewServer()
	check(airport.NewServer(server, airport.ServerConfig{Catalog: tables, Address: address}))
	check(server.Serve(listener))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
