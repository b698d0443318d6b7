"""The server: an API, answers streamed hop by hop, and a page. `app.create_app` puts it together."""
