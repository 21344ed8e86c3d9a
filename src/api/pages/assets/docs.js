// Shows the API description (`/docs`) with Swagger UI, of which this page has the script.

const prefersDark = matchMedia('(prefers-color-scheme: dark)')
const followPreference = () => document.documentElement.classList.toggle('dark-mode', prefersDark.matches)
prefersDark.addEventListener('change', followPreference)
followPreference()

const page = document.querySelector('#docs')
globalThis.SwaggerUIBundle({
  domNode: page,
  url: page.dataset.description,
  // Without BASE_URL, the description names the API by its path alone. A proxy may serve this page and the API below another path.
  requestInterceptor: (request) => {
    request.url = request.url.replace(`${location.origin}/api/v1/`, new URL('./api/v1/', location))
    return request
  },
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  // By default, Swagger UI sends the description to a public validator.
  validatorUrl: null,
})
