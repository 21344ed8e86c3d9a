const prefersDark = matchMedia('(prefers-color-scheme: dark)')
const followPreference = () => document.documentElement.classList.toggle('dark-mode', prefersDark.matches)
prefersDark.addEventListener('change', followPreference)
followPreference()

const page = document.querySelector('#docs')
globalThis.SwaggerUIBundle({
  domNode: page,
  url: page.dataset.description,
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  // The viewer would otherwise ask a host of its maker to judge the description.
  validatorUrl: null,
})
