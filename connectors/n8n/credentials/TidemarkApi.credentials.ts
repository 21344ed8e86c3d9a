import type {
  IAuthenticate,
  ICredentialTestRequest,
  ICredentialType,
  Icon,
  IHttpRequestOptions,
  INodeProperties,
} from 'n8n-workflow'

export class TidemarkApi implements ICredentialType {
  name = 'tidemarkApi'

  displayName = 'Tidemark API'

  icon: Icon = { light: 'file:../icons/tidemark.svg', dark: 'file:../icons/tidemark.dark.svg' }

  documentationUrl = 'https://quiz.example/docs'

  properties: INodeProperties[] = [
    {
      displayName: 'Base URL',
      name: 'baseUrl',
      type: 'string',
      required: true,
      default: '',
      placeholder: 'https://quiz.example/api/v1',
      description: 'The URL of the API, with /api/v1',
    },
    {
      displayName: 'Account Key',
      name: 'apiKey',
      type: 'string',
      typeOptions: { password: true },
      required: true,
      default: '',
      placeholder: 'rqp_acct_…',
      description: 'A key of the team, from the settings area. It reads all forms and submissions of the team.',
    },
  ]

  // A function, because a trigger asks long after n8n has ended the scope in which it evaluates expressions.
  authenticate: IAuthenticate = async (credentials, options) => {
    const headers: NonNullable<IHttpRequestOptions['headers']> = {
      ...options.headers,
      Authorization: `Bearer ${String(credentials['apiKey']).trim()}`,
    }
    return { ...options, headers }
  }

  test: ICredentialTestRequest = {
    request: {
      baseURL: '={{ $credentials.baseUrl.replace(/\\/+$/, "") }}',
      url: '/forms',
      qs: { limit: 1, fields: 'id' },
    },
    rules: [
      {
        type: 'responseCode',
        properties: { value: 401, message: 'The account key is unknown, expired or revoked' },
      },
      {
        type: 'responseCode',
        properties: { value: 404, message: 'There is no Tidemark API at "Base URL", which ends in /api/v1' },
      },
    ],
  }
}
