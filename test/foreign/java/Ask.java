import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.format.DateTimeFormatter;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.FormsApi;
import org.openapitools.client.api.RecordsApi;
import org.openapitools.client.model.Form;
import org.openapitools.client.model.Submission;
import org.openapitools.client.model.SubmissionCounts;
import org.openapitools.client.model.SubmissionList;
import org.openapitools.client.model.SubmissionSummary;

/** Asks the API at BASE_URL with the key KEY by the client that openapi-generator has generated, and prints its answers as a line. */
final class Ask {
  public static void main(String[] arguments) throws Exception {
    var json = new ObjectMapper();
    var client = new ApiClient();
    client.updateBaseUri(System.getenv("BASE_URL"));
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + System.getenv("KEY")));
    var records = new RecordsApi(client);
    String answers = json.writeValueAsString(Map.of("q:1 <é>", "a b&c", "q2", List.of("none", "x")));

    SubmissionList page = records.listRecords(RecordsApi.APIListRecordsRequest.newBuilder().limit(100).build());
    SubmissionList filtered =
        records.listRecords(RecordsApi.APIListRecordsRequest.newBuilder().answers(answers).since("2026-04-01").build());
    SubmissionList selected =
        records.listRecords(RecordsApi.APIListRecordsRequest.newBuilder().limit(1).fields("id,result.score").build());
    SubmissionCounts counts =
        records.countRecords(RecordsApi.APICountRecordsRequest.newBuilder().by("day,status").build());
    Submission record = records.getRecord(RecordsApi.APIGetRecordRequest.newBuilder().id("asked").build());
    Form form = new FormsApi(client).getForm(FormsApi.APIGetFormRequest.newBuilder().id("form-1").build());

    var said = new LinkedHashMap<String, Object>();
    said.put("client", "openapi-generator java");
    said.put("total", page.getTotalDocs());
    said.put("page", page.getItems().stream().map(Ask::row).toList());
    said.put("filtered", filtered.getItems().stream().map(each -> List.of(each.getId(), each.getData().get("q2"))).toList());
    said.put(
        "selected",
        selected.getItems().stream().map(each -> Arrays.asList(each.getFormId(), each.getResult().getScore())).toList());
    said.put("counts", counts.getItems().stream().map(each -> Arrays.asList(each.getKey(), each.getCount())).toList());
    var at = DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSSX").format(record.getSubmittedAt());
    said.put("record", List.of(record.getSerialNumber(), at, record.getReportResult().getDimensionAnalysis().getRadar()));
    said.put("form", List.of(form.getTitle(), form.getScene(), form.getFields(), form.getLocalization()));
    System.out.println(json.writeValueAsString(said));
  }

  private static List<Object> row(SubmissionSummary submission) {
    var examinee = submission.getExaminee();
    return Arrays.asList(submission.getId(), examinee == null ? null : examinee.getEmail(), submission.getResult().getScore());
  }
}
