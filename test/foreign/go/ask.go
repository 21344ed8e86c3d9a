// Asks the API at BASE_URL with the key KEY the same questions by both generated clients, and prints each client's answers as a line.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	"tidemark/ask/codegen"
	"tidemark/ask/generator"
)

const timeFormat = "2006-01-02T15:04:05.000Z07:00"

var (
	baseURL = os.Getenv("BASE_URL")
	key     = os.Getenv("KEY")
	answers = `{"q:1 <é>":"a b&c","q2":["none","x"]}`
	since   = "2026-04-01"
	fields  = "id,result.score"
)

type said struct {
	Client   string `json:"client"`
	Total    int64  `json:"total"`
	Page     []any  `json:"page"`
	Filtered []any  `json:"filtered"`
	Selected []any  `json:"selected"`
	Counts   []any  `json:"counts"`
	Record   []any  `json:"record"`
	Form     []any  `json:"form"`
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func printLine(answers said) {
	fmt.Println(string(must(json.Marshal(answers))))
}

func askWithOpenapiGenerator() {
	configuration := generator.NewConfiguration()
	configuration.Servers = generator.ServerConfigurations{{URL: baseURL}}
	client := generator.NewAPIClient(configuration)
	ctx := context.WithValue(context.Background(), generator.ContextAccessToken, key)
	list := func(request generator.ApiListRecordsRequest) *generator.SubmissionList {
		answer, _, err := request.Execute()
		return must(answer, err)
	}
	page := list(client.RecordsAPI.ListRecords(ctx).Limit(100))
	filtered := list(client.RecordsAPI.ListRecords(ctx).Answers(answers).Since(since))
	selected := list(client.RecordsAPI.ListRecords(ctx).Limit(1).Fields(fields))
	counts, _, err := client.RecordsAPI.CountRecords(ctx).By("day,status").Execute()
	must(counts, err)
	record, _, err := client.RecordsAPI.GetRecord(ctx, "asked").Execute()
	must(record, err)
	form, _, err := client.FormsAPI.GetForm(ctx, "form-1").Execute()
	must(form, err)

	answer := said{Client: "openapi-generator go", Total: page.TotalDocs}
	for _, each := range page.Items {
		var email *string
		if examinee := each.Examinee.Get(); examinee != nil {
			email = examinee.Email.Get()
		}
		answer.Page = append(answer.Page, []any{each.Id, email, each.Result.Score.Get()})
	}
	for _, each := range filtered.Items {
		answer.Filtered = append(answer.Filtered, []any{each.Id, each.Data["q2"]})
	}
	for _, each := range selected.Items {
		answer.Selected = append(answer.Selected, []any{each.FormId, each.Result.Score.Get()})
	}
	for _, each := range counts.Items {
		answer.Counts = append(answer.Counts, []any{each.Key, each.Count})
	}
	radar := record.ReportResult.Get().DimensionAnalysis.Get().Radar
	answer.Record = []any{record.SerialNumber.Get(), record.SubmittedAt.Format(timeFormat), radar}
	answer.Form = []any{form.Title, form.Scene, form.Fields, form.Localization}
	printLine(answer)
}

func askWithOapiCodegen() {
	ctx := context.Background()
	withKey := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+key)
		return nil
	}
	client := must(codegen.NewClientWithResponses(baseURL, codegen.WithRequestEditorFn(withKey)))
	list := func(parameters codegen.ListRecordsParams) *codegen.SubmissionList {
		return must(client.ListRecordsWithResponse(ctx, &parameters)).JSON200
	}
	limit, one := 100, 1
	page := list(codegen.ListRecordsParams{Limit: &limit})
	filtered := list(codegen.ListRecordsParams{Answers: &answers, Since: &since})
	selected := list(codegen.ListRecordsParams{Limit: &one, Fields: &fields})
	by := codegen.CountRecordsParams{By: codegen.CountRecordsParamsByDaystatus}
	counts := must(client.CountRecordsWithResponse(ctx, &by)).JSON200
	record := must(client.GetRecordWithResponse(ctx, "asked", nil)).JSON200
	form := must(client.GetFormWithResponse(ctx, "form-1", nil)).JSON200

	answer := said{Client: "oapi-codegen", Total: page.TotalDocs}
	for _, each := range page.Items {
		var email *string
		if each.Examinee != nil {
			email = each.Examinee.Email
		}
		answer.Page = append(answer.Page, []any{each.Id, email, each.Result.Score})
	}
	for _, each := range filtered.Items {
		answer.Filtered = append(answer.Filtered, []any{each.Id, (*each.Data)["q2"]})
	}
	for _, each := range selected.Items {
		answer.Selected = append(answer.Selected, []any{each.FormId, each.Result.Score})
	}
	for _, each := range counts.Items {
		answer.Counts = append(answer.Counts, []any{each.Key, each.Count})
	}
	radar := record.ReportResult.DimensionAnalysis.Radar
	answer.Record = []any{record.SerialNumber, record.SubmittedAt.Format(timeFormat), radar}
	answer.Form = []any{form.Title, form.Scene, form.Fields, form.Localization}
	printLine(answer)
}

func main() {
	askWithOpenapiGenerator()
	askWithOapiCodegen()
}
