{{- define "tidemark.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains "tidemark" .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-tidemark" .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "tidemark.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (ternary (include "tidemark.fullname" .) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{/* Labels by which pods of one component are found. Arguments: root, component. */}}
{{- define "tidemark.selectorLabels" -}}
app.kubernetes.io/name: tidemark
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* Labels of every object. A pod lacks the version of the chart: with it, each upgrade would restart everything. */}}
{{- define "tidemark.labels" -}}
{{ include "tidemark.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "tidemark.metadata" -}}
name: {{ include "tidemark.fullname" .root }}-{{ .suffix | default .component }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "tidemark.labels" . | nindent 2 }}
{{- end -}}

{{/* The processes that run: a JSON list. */}}
{{- define "tidemark.processes" -}}
{{- ternary (list "api" "indexer" "settings") (list "api" "indexer") .Values.settings.enabled | toJson -}}
{{- end -}}

{{/* The component whose variables this component gets. */}}
{{- define "tidemark.process" -}}
{{- ternary "indexer" . (has . (list "rebuild" "verify")) -}}
{{- end -}}

{{/* A component's values; those of `rebuild` and `verify` override the indexer's. Arguments: root, component. */}}
{{- define "tidemark.own" -}}
{{- $own := deepCopy (index .root.Values .component) -}}
{{- if has .component (list "rebuild" "verify") -}}
{{- range $key := list "config" "secrets" -}}
{{- $entries := deepCopy (index $.root.Values.indexer $key) -}}
{{- range $name, $entry := index $own $key -}}{{- $_ := set $entries $name $entry -}}{{- end -}}
{{- $_ := set $own $key $entries -}}
{{- end -}}
{{- $_ := set $own "existingSecret" ($own.existingSecret | default .root.Values.indexer.existingSecret) -}}
{{- end -}}
{{- toYaml $own -}}
{{- end -}}

{{/* A component's entries of `config` or `secrets`, those of the whole chart included. Arguments: root, component, key. */}}
{{- define "tidemark.entries" -}}
{{- $variables := .root.Files.Get "files/variables.yaml" | fromYaml -}}
{{- $process := include "tidemark.process" .component -}}
{{- $own := index (include "tidemark.own" . | fromYaml) .key -}}
{{- $entries := dict -}}
{{- range $name, $entry := index .root.Values .key -}}
{{- if has $process (index $variables $name) -}}{{- $_ := set $entries $name $entry -}}{{- end -}}
{{- end -}}
{{- range $name, $entry := $own -}}
{{- if not (has $process (index $variables $name)) -}}
{{- fail (printf "%s.%s.%s: the %s has no such variable" $.component $.key $name $process) -}}
{{- end -}}
{{- $_ := set $entries $name $entry -}}
{{- end -}}
{{- toYaml $entries -}}
{{- end -}}

{{/* Fails unless a component has the variables without which its process ends with 78. Arguments: root, component. */}}
{{- define "tidemark.complete" -}}
{{- $config := include "tidemark.entries" (merge (dict "key" "config") .) | fromYaml -}}
{{- $secrets := include "tidemark.entries" (merge (dict "key" "secrets") .) | fromYaml -}}
{{- $process := include "tidemark.process" .component -}}
{{- $needs := list "REDIS_URL or REDIS_SENTINELS" -}}
{{- if ne $process "settings" -}}{{- $needs = append $needs "ELASTICSEARCH_URL" -}}{{- end -}}
{{- if ne $process "api" -}}{{- $needs = append $needs "KAFKA_BROKERS" -}}{{- end -}}
{{- if eq $process "settings" -}}
{{- $needs = concat $needs (list "SETTINGS_URL" "SIGN_IN_ISSUER" "SIGN_IN_SECRET or SIGN_IN_JWKS_URL") -}}
{{- end -}}
{{- range $need := $needs -}}
{{- $isGiven := false -}}
{{- range splitList " or " $need -}}
{{- if or (index $config .) (hasKey $secrets .) -}}{{- $isGiven = true -}}{{- end -}}
{{- end -}}
{{- if not $isGiven -}}{{- fail (printf "%s: %s is in neither `config` nor `secrets`" $process $need) -}}{{- end -}}
{{- end -}}
{{- end -}}

{{/*
The ports of HTTPS at which a component asks somebody besides the engines, a JSON list: the product for its public keys, an authority for tokens of
Kafka, AWS for credentials. Arguments: root, component.
*/}}
{{- define "tidemark.portsOutside" -}}
{{- $config := include "tidemark.entries" (merge (dict "key" "config") .) | fromYaml -}}
{{- $ports := list -}}
{{- range $url := list $config.SIGN_IN_JWKS_URL $config.KAFKA_OAUTH_TOKEN_URL | compact -}}
{{- $ports = append $ports (regexFind ":[0-9]+$" (urlParse $url).host | trimPrefix ":" | default "443" | int) -}}
{{- end -}}
{{- if eq ($config.KAFKA_SASL_MECHANISM | default "") "aws-msk-iam" -}}{{- $ports = append $ports 443 -}}{{- end -}}
{{- uniq $ports | toJson -}}
{{- end -}}

{{/* A value as the text of an environment variable. YAML reads a number as a float, which would be printed with an exponent. */}}
{{- define "tidemark.text" -}}
{{- if kindIs "float64" . -}}{{- int64 . -}}{{- else -}}{{- . -}}{{- end -}}
{{- end -}}

{{/* The content of the Secret that the chart makes for a component: variables by name, or nothing. Arguments: root, component. */}}
{{- define "tidemark.secretData" -}}
{{- range $name, $entry := include "tidemark.entries" (merge (dict "key" "secrets") .) | fromYaml -}}
{{- if hasKey $entry "value" }}
{{ $name }}: {{ $entry.value | quote }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Where a component's secrets are: `{secret, key}` by variable. Arguments: root, component. */}}
{{- define "tidemark.secretRefs" -}}
{{- $own := include "tidemark.own" . | fromYaml -}}
{{- $existing := $own.existingSecret | default .root.Values.existingSecret -}}
{{- $made := printf "%s-%s" (include "tidemark.fullname" .root) .component -}}
{{- range $name, $entry := include "tidemark.entries" (merge (dict "key" "secrets") .) | fromYaml -}}
{{- if not $entry.file -}}
{{- $secret := ternary $made ($entry.secret | default $existing) (hasKey $entry "value") -}}
{{- if not $secret -}}{{- fail (printf "secrets.%s needs a `value`, a `file` or a `secret`, or `existingSecret`" $name) -}}{{- end }}
{{ $name }}: {secret: {{ $secret }}, key: {{ $entry.key | default $name }}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The engines whose certificate authorities a component gets: a JSON list. */}}
{{- define "tidemark.authorities" -}}
{{- $engines := list -}}
{{- range $engine, $from := .root.Values.authorities -}}
{{- $isUsed := not (has (list $.component $engine) (list (list "api" "kafka") (list "settings" "elasticsearch"))) -}}
{{- if and $isUsed (or $from.secret $from.configMap) -}}{{- $engines = append $engines $engine -}}{{- end -}}
{{- end -}}
{{- toJson $engines -}}
{{- end -}}

{{/* The engines for which a component gets a client certificate: a JSON list. */}}
{{- define "tidemark.clientCertificates" -}}
{{- $engines := list -}}
{{- range $engine, $from := .root.Values.clientCertificates -}}
{{- if and $from.secret (ne (list $.component $engine | join "-") "api-kafka") -}}{{- $engines = append $engines $engine -}}{{- end -}}
{{- end -}}
{{- toJson $engines -}}
{{- end -}}
