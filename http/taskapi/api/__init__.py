"""Parts that all resources share: operations, OpenAPI, problem documents, bodies, parameters, pages."""
