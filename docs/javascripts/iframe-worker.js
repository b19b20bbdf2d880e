// Search from disk. The search of the site runs in a Worker, and browsers start none for a page opened as file://. This stand-in
// runs the same script in a hidden frame instead. The theme looks for the name IFrameWorker, and its `offline` plugin for
// "iframe-worker" in the name of this file: otherwise it would load such a script from another site.
(() => {
  if (location.protocol !== "file:") return;

  function load(frame, url) {
    return new Promise((resolve, reject) => {
      const script = frame.contentDocument.createElement("script");
      script.src = url;
      script.onload = () => resolve();
      script.onerror = () => reject(new Error(`cannot load ${url}`));
      frame.contentDocument.head.append(script);
    });
  }

  class IFrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.documentElement.append(this.frame);
      this.frame.contentDocument.write("<!doctype html>"); // Firefox would replace the empty page a moment later
      this.frame.contentDocument.close();
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = (...urls) => urls.reduce((done, next) => done.then(() => load(this.frame, next)), Promise.resolve());
      this.ready = load(this.frame, new URL(url, document.baseURI));
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }
  }

  window.IFrameWorker = window.Worker = IFrameWorker;
})();
