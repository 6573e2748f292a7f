"""Words by meaning, normalised (lowercase, no accents). A star stands for any ending.

Settings can extend each list.
"""

import re
from collections.abc import Iterable

LISTS: dict[str, str] = {
    # Other messengers.
    "messenger": """whatsapps telegrams kik qq bereal mastodon bluesky matrix imo botim zalo
        telega whatsappen watsap whatsaap whattsapp whatapp wasup wazzap wassup telgram telegra
        вотсап ватсап телеграм телеграмм вайбер whatsapp whatsap watsapp whatsup wasap wasapp wassap guasap whats wapp wsp wpp
        zap zapzap telegram telegramm telegrama telegramı tg tlgrm viber wechat weixin kakao
        kakaotalk kakotalk skype discord snapchat threema imessage facetime wickr icq
        واتساب واتس الواتساب واتسب تليجرام تلغرام التلغرام التليجرام سناب سنابشات""",
    "messenger_weak": "signal line messenger snap zoom meet teams slack element wire kakao wa",
    "social": """instagram instagramm instagran insta instas ig gram igtv facebook fb tiktok twitter linkedin vk onlyfans pinterest
        انستقرام انستغرام انستا الانستا فيسبوك تيك""",
    "payservice": """paypal venmo cashapp zelle bizum pix twint revolut transferwise tikkie
        blik postepay satispay vipps mobilepay monzo alipay paypay papara stcpay wero
        mbway paylib payconiq bancontact interac moneygram paysafe paysafecard skrill neteller n26
        usdt bitcoin btc ethereum usdc crypto krypto cripto kripto clabe cbu iban
        giropay gpay paytm payoneer remitly picpay yape plin nequi daviplata mercadopago instapay
        kryptowalut* انستاباي""",
    "payservice_weak": "wise swish lydia eth sepa wallet swift square klarna",
    "mailprovider": """gmail gmails googlemail hotmail outlook protonmail yahoo ymail
        icloud gmx posteo wanadoo aol fastmail tutanota laposte sapo interia onet mynet yandex
        mailru tonline webde jimeil yimeil""",
    # Requests and offers to be contacted.
    "contact": """call* ring text txt dm dms pm message msg write ping reach contact* add find hit
        hmu shout talk buzz whatsapp* email mail* poke follow slide
        ruf rufe rufen ruft anruf* anruft schreib schreibe schreibt schreiben meld* erreich*
        kontakt* adde* add schick* quatsch* kommt
        llama* llame* llamo escrib* mandame mande mandas mandar pasame pasas paso pase habla* hable*
        hablemos agrega* contact* contest* sigue* sigueme busca* buscame
        appel* ecri* joign* contacte* ajout* mp envoie* envoye* appeler sonne* rejoins retrouve*
        parle* texte*
        liga ligar ligue chama chame chamar manda mande mandar escrev* fala falar fale acha achar
        adiciona* contat* contacta* procura* segue passa
        chiam* scriv* contatt* sentiamo sentirci aggiung* cercami trovami mandami
        bel belt bellen app appen appje mail schrijf* stuur* bereik* contact
        dzwon* zadzwon* napisz* pisz* kontakt* odezwij dodaj
        ara arayin arayabilir* arasan yaz yazin yazsan yazabilir* ulas* mesaj ekle
        تواصل اتصل ارسل راسل راسلني كلمني كلم اضف تواصلي اتصلي ضيفني اكتب""",
    # Telephones.
    "number": """number numbers mobile cell cellphone phone tel telephone telefon* handy
        handynummer nummer mobil mobilnummer rufnummer festnetz numero num movil celular cel fijo
        telefono portable fixe telephone telemovel telefone fone celular cellulare cell fisso
        telefoonnummer telefoon mobiel numer komork* numara* numaram cep gsm sms mms voicemail
        landline hotline رقم رقمي جوال جوالي هاتف هاتفي موبايل number's digits""",
    # Numbers that are not telephone numbers.
    "record": """serial* tracking tracked receipt* invoice* vat barcode ean isbn issn sku parcel
        carnet passport licence license registration hex postcode iso din
        sendung* sendungsnummer rechnungsnummer rechnung ust ustid belegnummer steuernummer
        seriennummer* kundennummer bestellnummer auftragsnummer artikelnummer strichcode inventarnummer
        recibo factura seguimiento serie matricula cif nif albaran
        colis suivi recu facture siret siren serie
        rastreio rastreamento fatura cnpj
        ricevuta fattura spedizione tracciamento matricola seriale
        ontvangstbewijs factuur pakket btw kvk volgnummer serienummer
        paragon faktur* przesylk* nip seryjn* regon
        fis fatura kargo takip seri vergi
        فاتورة شحنة تتبع ايصال الشحنة الفاتورة
        codigo barras barcode strichcode ean jan pin fiscal processo cep plz partii batch
        prop fake dummy fictional clapperboard klappe requisite fiktiv ficticio fictif finto""",
    # The work itself, where a brand is a client or a format.
    "work": """campaign campaigns logo brand brands client clients reel reels story stories ad ads
        advert spot format formats thumbnail cutdown cutdowns vertical design redesign ui ux screen
        screens prop props poster style styled look feed carousel template mockup illustration
        illustrations sticker stickers emoji emojis pack launch interface bot chatbot integration
        background wallpaper filter filters headline caption captions hashtags influencer
        influencers audience channel channels series episode episodes mockups mock-ups templates designs video videos clip clips cover covers banner banners icon icons bubbles
        post posts posting crops crop deliverables aesthetic grid content followers account-launch
        shoot hashtag campagne film films packaging animation animations tutorial documentary
        article interview brief case-study deck pitch typeface font
        kampagne plakat kunde kunden marke werbung werbespot format formate beitrag beitrage
        anzeige anzeigen clip kachel kacheln entwurf entwurfe erklarfilm film logo requisite
        campana cliente clientes marca anuncio anuncios formato formatos cartel diseno subtitulos
        historia historias portada contenido
        affiche banniere publicite marque declinaison declinaisons visuel visuels maquette
        pub contenu clip couverture
        cliente marca anuncio criativo criativos capa formato formatos ilustracoes layout peca
        pecas conteudo post
        tagli formati negozio campagna marchio pubblicita locandina grafica copertina contenuti
        kampania klient klienta marka grafik* plakat* rolki
        reklam kampanya marka afis gonderi
        حملة شعار تصميم اعلان منشور""",
    # Bypassing.
    "out": """outside off offline bypass* circumvent* avoiding skipping without around past skip
        beyond
        ohne ausserhalb vorbei abseits
        fuera sin
        hors sans dehors
        fora sem
        fuori senza scavalcando evitando
        buiten zonder
        poza bez
        disinda disindan haricinde
        خارج بدون بعيدا""",
    "platform": """platform platform's platforms site site's website app portal marketplace parley
        system
        plattform seite portal
        plataforma sitio portal web pagina
        plateforme appli
        piattaforma sito portale
        portalem portalu serwisu serwisem strony strona platformy platforma
        platformun sitenin sitesi uygulamanin sitesiz platformsuz
        المنصة الموقع التطبيق منصة""",
    "here": "here hier aqui aca ici qui hiervandaan tutaj tu burada buradan هنا ca",
    "direct": """direct directly straight privately private personally ourselves yourself myself separately
        direkt privat personlich unter
        directo directa directamente privado aparte
        directement prive
        direto diretamente particular
        diretto direttamente privatamente privato
        rechtstreeks direct onderling prive
        bezposrednio prywatnie
        dogrudan direkt
        مباشرة مباشر 直接""",
    "fee": """fee fees commission commissions charge charges middleman
        middlemen markup
        gebuhr gebuhren provision provisionen kommission abzug abzuge servicegebuhr
        comision comisiones tasa tasas intermediario
        commission commissions frais
        comissao comissoes taxa taxas intermediario
        percentuale commissione commissioni intermediari
        kosten servicekosten commissie
        prowizji prowizja prowizje oplat oplaty
        komisyon komisyonu komisyonsuz ucret
        عمولة العمولة رسوم الرسوم""",
    "save": """save saves saving avoid avoids lose loses losing eats cheaper discount less lower knock keeps both waive
        sparen spare spart sparst gunstiger billiger rabatt nachlass
        ahorr* barato baratos descuento rebaj*
        econom* moins remise
        barato desconto poupa poupar poupamos
        risparm* sconto meno tolgo
        scheelt goedkoper korting bespaart besparen
        taniej rabat zejde zejdziemy
        ucuz ucuza indirim
        ارخص خصم نوفر توفر""",
    "pay": """pay pays paying payment deposit transfer wire send sending sent bank settle invoice
        money account wallet rent
        zahl* bezahl* uberweis* ueberweis* anzahlung geld konto kaution begleich* schick*
        paga* pago pagas pagar transfier* transferencia deposita* senal anticipo ingresa*
        bizum haces hazme
        paye* payer paie virement vire verse* verser acompte regle* regler argent compte
        paga* pago pague pagar transferi* deposit* sinal conta faz fez fazer
        paga* pagh* bonifico bonific* ricarica caparra acconto fammi versa versare conto
        betaal* betalen overmak* maak aanbetaling rekening
        przelew* zaplac* placi* zaliczk* konto
        ode* odeme kapora kaporayi havale hesab* gonder*
        ادفع حول تحويل عربون الدفع حساب حسابي""",
    "cash": """cash bar barzahlung bargeld efectivo contado liquide especes cash dinheiro
        contanti contante contant gotowk* gotowce nakit elden نقدا كاش نقد""",
    "book": """book booking booked books offer reserv* order accept contract card
        buch* gebucht angebot auftrag termin
        reserv* oferta contrat*
        reserv* valider devis
        reserva* marca* agend*
        prenot*
        boek* reserveer*
        rezerw*
        rezerv*
        حجز الحجز""",
    "cancel": """cancel cancels decline declines reject withdraw
        storniere* stornier* ablehn* lehn lehne absag*
        cancela* rechaza* anula* declina*
        annule* refuse* decline*
        cancela* recusa* recuse
        annulla* rifiuta*
        annuleer* weiger* wijs
        anuluj* odrzuc*
        iptal reddet
        الغ الغي ارفض""",
    "not": """not dont don't doesnt doesn't never no nor wont won't cannot cant can't refuse only
        nicht nie kein keine keinen ungern niemals nichts nix
        no nunca jamas ningun nada ninguna sin
        pas jamais aucun aucune ne refuse rien sans neither without
        nao nunca nem nenhuma nenhum
        non mai nessun nessuna niente senza
        niet geen nooit niks
        nie nigdy zaden bez nic
        degil yok asla istemem
        لا لن ليس ما""",
    "mine": """my mine i i'm i'll i've we'll we're im me us our mein meine mich mir ich uns wir
        mi me mio soy estoy yo nosotros nos
        mon ma moi je m'ecrire nous
        meu minha eu me mim
        mio mia sono io mi
        mijn ik mij me ons
        moj moja mnie mi ja
        benim beni bana ben numaram
        لي عندي انا حسابي رقمي""",
    "yours": """your yours got ur u have du ihr vous avez teu sua voce tu tienes tens tem dein deine deinen hast habt ton ta t'as tuo hai
        jouw heb masz twoj senin sende عندك رقمك""",
    # Continuing elsewhere, and why it would be better.
    "move": """continue move switch hop jump shift go keep carry over let's lets join
        wechsel* weiter rüber ruber umsteigen gehen machen verlegen
        seguimos sigamos sigue pasamos pasemos vamos vamonos
        continue* continuons passons basculer bascule migrons
        continua* continuamos bora vamos passamos migrar
        continuiamo passiamo spostiamoci andiamo proseguiamo
        verder overstappen verdergaan przejdz* przenies* gecelim gecsek devam نكمل ننتقل""",
    "better": """easier faster quicker better prefer simpler schneller einfacher besser lieber
        leichter mejor facil rapido prefiero mieux simple vite rapide prefere prefiro melhor facil
        meglio veloce comodo sneller makkelijker liever lepiej szybciej wole iyi hizli kolay
        اسرع افضل اسهل""",
    "me": """me us mir mich uns moi nous mim mij ons mnie bana لي pagame pagarme pagami payez-moi
        myself pagarmi pagarnos""",
    "account": """account bank konto cuenta compte conta conto rekening konta hesabima hesabim hesap
        iban حسابي الحساب""",
    "bankdetails": """bankverbindung kontoverbindung kontodaten bankdaten rib sortcode routing swift
        bic rekeningnummer""",
    "transfer": """transfer wire bank uberweis* ueberweis* uberweisung transferencia transfiere*
        virement vire bonifico przelew* havale overmaken overboeking deposito تحويل""",
    "reversed": """backwards backward reversed reverse ruckwarts hinten reves revers envers inverso
        contrario tras achteruit achterstevoren wspak tersten""",
    "search": """google googel search lookup suche such googeln googele busca buscame cherche
        cherchez recherche tape procura procure pesquisa cerca cercami zoek szukaj wygoogluj ara
        arat ابحث""",
    "searched": """name result results form formular formulario formulaire kontaktformular
        website site homepage nombre nom nome naam nazwa resultado resultat risultato treffer
        surname""",
    # The rest is used by the model only. Requests and offers.
    "ask": """give gimme leave share tell drop have got get exchange provide which what's whats
        gib gebt geben gebe dalassen hinterlass* verrat* hast habt haben sag sagt welche welcher
        dame dime das damelo pasame pasas deja dejas dejame tienes tenes cual comparte* digame
        donne* laisse* avez as auriez passe file quel quelle dites dis
        tens tem passa passas passe deixa deixas diz diga qual teria da
        dammi dai dimmi lasci lascia* hai ha avrebbe avresti quale mandami mi
        heb heeft geef stuur welk masz ma podaj daj jaki jaka var ver verir hangi soyle
        عندك اعطني اعطيني ارسل هات وش ممكن""",
    # Email.
    "mailbox": """mail mails email emails e-mail inbox mailbox mailadresse emailadresse postfach
        correo mailito courriel mel adresse adres adresu maila mailem mailowy poczta poczte
        posta indirizzo casella pec endereco direccion address eposta mailini mailden meili
        ايميل الايميل بريد ايميلك بريدك""",
    # Reported speech: not proposed by the author.
    "told": """asked told said offered offers reported blocked tried wanted refused declined someone
        somebody anyone guy scam scammed claiming
        gefragt gesagt angeboten gemeldet versucht wollte wollten jemand lehne abgelehnt betrug
        pidio pidieron dijo dije ofrecio ofrecieron propuso denuncie alguien rechace estafa negue
        propose demande dit refuse signale quelqu'un arnaque proposait demandait
        pediu pediram disse ofereceu denunciei alguem recusei golpe
        chiesto detto offerto segnalato qualcuno rifiutato truffa proposto
        vroeg gevraagd gezegd iemand geweigerd gemeld prosil odmowil ktos zaproponowal oszust
        istedi dedi teklif biri reddettim sikayet طلب قال عرض رفضت احد نصاب""",
    "safe": """safe safer secure protected protection rules rule policy insurance guarantee record
        sicher sicherer sicherheit geschutzt schutz kauferschutz regeln
        seguro segura seguridad proteccion garantia normas reglas protegido
        sur securise protection regles garantie
        segura seguranca protecao regras protegido
        sicuro sicura sicurezza tutela regole protetto
        veilig veiliger bescherming regels bezpieczn* ochrona zasady regulamin
        guvenli guvence kural امان محمي قوانين آمن""",
    # Numbers and names in an image, a play or a song.
    "scene": """scene script screenplay sign signage slogan lyrics lyric fictional placeholder dummy
        prop props
        szene szenen drehbuch schild liedtext requisit platzhalter
        escena escenas guion letrero cartel personaje atrezo
        replique scenario panneau paroles personnage accessoire
        cena cenas roteiro guiao placa letreiro personagem adereco
        copione cartello personaggio oggetto finto
        rekwisiet bordje scena scenie scenariusz szyld rekwizyt
        sahne senaryo tabela مشهد سيناريو لوحة وهمي""",
    "elsewhere": """elsewhere somewhere there other another different anywhere everywhere
        woanders anderswo dort druben da uberall ausserdem
        alla ahi alli otro otra lado
        ailleurs la-bas autre partout
        la ali outro outra lado la
        altrove altra altro li ovunque
        elders daar ergens tam gdzie indziej oraya orada oradan baska هناك مكان ثاني""",
    "button": """button buttons checkout click request accept confirm expire lapse
        knopf klick* anfrage bestatig* verfallen
        boton clic solicitud confirma* caducar
        bouton clique* demande confirme* expirer
        botao clica* pedido confirma* expirar
        pulsante clicc* richiesta conferma* scadere
        knop klik aanvraag bevestig przycisk klik* prosba dugme onay talep زر طلب""",
    # Prices that differ from the offer.
    "price": """price prices rate rates quote percent cheaper less lower discount net
        preis preise satz prozent netto
        precio precios tarifa cuesta porciento
        prix tarif tarifs cout
        preco precos valor orcamento
        prezzo prezzi tariffa cifra
        prijs prijzen tarief cena ceny stawka fiyat fiyati سعر السعر اسعار""",
}
JAPANESE: dict[str, tuple[str, ...]] = {
    "messenger": (
        *("lineの", "lineで", "lineを", "lineに", "line id", "lineid"),
        "ライン",
        "ワッツアップ",
        "テレグラム",
        "カカオ",
        "スカイプ",
        "ディスコード",
    ),
    "social": ("インスタ", "フェイスブック", "ツイッター"),
    "contact": ("電話", "連絡", "追加", "送って", "メッセージ", "登録", "ご一報"),
    "number": ("番号", "電話", "携帯"),
    "payservice": ("ペイペイ", "paypay", "ゆうちょ"),
    "pay": ("振込", "振り込", "支払", "送金", "払", "銀行"),
    "direct": ("直接", "個人的"),
    "fee": ("手数料",),
    "platform": ("サイト", "プラットフォーム"),
    "cash": ("現金", "手渡し"),
    "work": ("広告", "デザイン", "ロゴ", "投稿", "キャンペーン", "クライアント"),
    "record": ("追跡", "注文", "領収", "請求", "伝票", "コード", "ダミー"),
    "mailbox": ("メール", "アドレス", "メアド"),
    "ask": ("教えて", "ください", "くれ", "もらえ"),
    "scene": ("シーン", "台本", "看板", "歌詞", "小道具", "ダミー", "タイトル"),
    "told": ("言われ", "断り", "頼まれ", "聞かれ"),
    "elsewhere": ("別の", "他の", "そっち", "あっち", "外で"),
    "safe": ("安心", "安全", "規約", "ルール"),
    "price": ("値段", "価格", "料金", "安く"),
    "button": ("ボタン", "予約", "申込"),
    "here": ("ここ", "こちら"),
}
# Phrases that are sufficient evidence.
SAID: tuple[str, ...] = (
    *(
        "off the platform",
        "off platform",
        "off-platform",
        "off the site",
        "off site and",
        "off-site",
        "off the app",
        "off this app",
        "leave parley out",
        "leave the site out",
        "leave them out",
        "off of here",
        "outside of here",
        "outside here",
        "take this elsewhere",
        "talk elsewhere",
        "discuss elsewhere",
        "continue elsewhere",
        "cut out the middle",
        "without the middle",
        "skip the middle",
        "off the books",
        "friends and family",
        "friends & family",
        "not through here",
        "rather not use this",
        "leave this site",
        "leave the platform",
        "behind their back",
    ),
    *(
        "leave the marketplace",
        "leave this app",
        "away from the platform",
        "away from this site",
        "outside the app",
        "outside the site",
        "outside the platform",
        "outside the marketplace",
        "without the platform",
        "without the app",
        "around the platform",
        "around the fee",
        "around the commission",
        "dodge the fee",
        "skip the fee",
        "skip the platform",
        "avoid the fee",
        "avoid the commission",
        "bypass",
        "not on here",
        "not over this",
        "cash in hand",
        "no paper trail",
        "off the record deal",
        "take it private",
        "go private",
        "deal direct",
        "go around them",
        "cut them out",
        "cut the site out",
        "pay on the side",
        "settle up in person",
        "settle it in person",
        "settle in person",
    ),
    *(
        "an der plattform vorbei",
        "am portal vorbei",
        "unter der hand",
        "ohne den umweg",
        "schwarz machen",
        "bar auf die hand",
        "bar auf kralle",
        "an freunde",
        "unter uns regeln",
        "auf dem kurzen dienstweg",
        "auserhalb der",
        "ohne das portal",
        "an der seite vorbei",
    ),
    *(
        "al margen de la",
        "por el otro lado",
        "bajo mano",
        "en negro",
        "lo hacemos por fuera",
        "sin pasar por",
        "saltarnos la",
        "entre nosotros y",
        "fuera de aqui",
        "fuera de la",
    ),
    *(
        "hors plateforme",
        "hors site",
        "hors du site",
        "de la main a la main",
        "sans passer par",
        "entre proches",
        "au black",
        "hors de la plateforme",
        "en dehors du",
        "en dehors de la",
    ),
    *(
        "sem passar pel",
        "fechar por fora",
        "fechamos por fora",
        "fora daqui",
        "fora do site",
        "fora da plataforma",
        "por baixo da mesa",
        "por debaixo",
        "sem ser por aqui",
    ),
    *(
        "senza passare",
        "fuori dal sito",
        "fuori piattaforma",
        "fuori da qui",
        "in nero",
        "sottobanco",
        "tra di noi senza",
        "fuori dalla piattaforma",
    ),
    *(
        "buiten de site",
        "buiten het platform",
        "buiten de app",
        "zwart betalen",
        "onderhands",
        "buiten dit platform",
        "zonder tussenkomst",
    ),
    *(
        "poza portalem",
        "poza serwisem",
        "poza platforma",
        "poza strona",
        "pod stolem",
        "z pominieciem",
    ),
    *(
        "site disinda",
        "platform disinda",
        "siteden bagimsiz",
        "elden ver",
        "buranin disinda",
        "sitenin disinda",
        "platformun disinda",
    ),
    *("خارج المنصة", "خارج الموقع", "خارج التطبيق", "بدون المنصة"),
    *("サイトの外", "サイトを通さ", "直接取引", "直接やり取り", "サイト外", "手数料なし"),
)
# Phrases that need further evidence.
HALF_SAID: tuple[str, ...] = (
    *(
        "their share",
        "their slice",
        "take their",
        "they take",
        "they keep",
        "they charge",
        "the site takes",
        "private rate",
        "private price",
        "minus the fee",
        "straight to me",
        "without the booking",
        "without a booking",
        "no booking",
        "envelope",
        "handshake",
        "hand me",
        "in the hand",
        "on the quiet",
        "old-fashioned way",
        "don't have to know",
        "doesn't need to know",
        "needn't know",
        "between you and me",
        "no need to book",
        "need to book",
        "need to accept",
        "forget the offer",
        "ignore the offer",
        "next time without",
        "do the rest without",
        "without all this",
        "mates rates",
    ),
    *(
        "ohne buchung",
        "nicht buchen",
        "nichts buchen",
        "ohne rechnung",
        "handschlag",
        "unter freunden",
        "die nehmen",
        "die ziehen",
        "die wollen",
        "die kassieren",
        "am system vorbei",
        "direktpreis",
        "freundschaftspreis",
        "nicht wissen",
        "umschlag",
        "ohne die",
        "selber abrechnen",
        "selbst abrechnen",
        "schenken wir uns",
        "sparen wir uns",
        "uber mich",
        "nicht uber hier",
        "nicht hieruber",
    ),
    *(
        "sin intermediario",
        "precio de amigo",
        "se llevan",
        "se quedan",
        "no hace falta reservar",
        "sin factura",
        "sin reservar",
        "en un sobre",
        "conmigo",
        "lo arreglamos",
        "nos arreglamos",
        "a tu mano",
    ),
    *(
        "sans intermediaire",
        "prix d'ami",
        "ils prennent",
        "ils gardent",
        "pas besoin de reserver",
        "au noir",
        "sans facture",
        "s'arrange",
        "arrangement",
        "sans reserver",
        "une enveloppe",
        "pas la peine",
    ),
    *(
        "sem intermediario",
        "eles ficam",
        "eles levam",
        "nao precisa reservar",
        "combinamos",
        "acertamos",
        "preco de amigo",
        "sem nota",
        "debaixo dos panos",
        "sem reservar",
        "site fica",
        "comigo",
    ),
    *(
        "senza intermediari",
        "si prendono",
        "si tengono",
        "non serve prenotare",
        "prezzo da amico",
        "mettiamo d'accordo",
        "in mano",
        "senza fattura",
        "senza prenotare",
        "una busta",
        "ci accordiamo",
    ),
    *("zonder boeking", "ze pakken", "vriendenprijs", "buitenom", "niet via", "in het handje"),
    *("bez rezerwacji", "dogada", "do reki", "bez faktury", "biora"),
    *("komisyon verme", "aramizda", "halledelim", "faturasiz"),
    *("بدون حجز", "نتفق"),
    *("内緒", "もったいない", "現金で", "予約なし"),
    *(
        "elsewhere",
        "under the table",
        "know what i mean",
        "their cut",
        "take a cut",
        "take a fifth",
        "take a quarter",
        "takes a fifth",
        "a cut of",
        "middleman",
        "between us",
        "between ourselves",
        "just the two of us",
        "no middle",
        "better price",
        "better deal",
        "out of it",
        "in my hand",
        "need this site",
        "need this website",
        "need the site",
        "need the platform",
        "involve the",
        "don't need them",
        "do it privately",
        "deal privately",
        "privately next",
        "in person instead",
        "on the side",
        "keep it between",
    ),
    *(
        "unter uns",
        "zwischen uns",
        "anderswo",
        "woanders",
        "auf die hand",
        "ohne umweg",
        "privat ab",
        "privat regeln",
        "besseren preis",
        "besserer preis",
        "guten preis",
    ),
    *(
        "por fuera",
        "entre nosotros",
        "en mano",
        "por otro lado",
        "en otro lado",
        "por privado",
        "precio de verdad",
        "mejor precio",
        "en privado",
        "menos precio",
    ),
    *(
        "en direct",
        "entre nous",
        "de la main",
        "ailleurs",
        "en dehors",
        "meilleur prix",
        "en prive",
    ),
    *(
        "por fora",
        "entre nos",
        "na mao",
        "em maos",
        "noutro lado",
        "por outro lado",
        "melhor preco",
        "em privado",
    ),
    *("tra noi", "fra noi", "a mano", "altrove", "in privato", "brevi manu", "prezzo migliore"),
    *("onder ons", "ergens anders", "onderling"),
    *("miedzy nami", "do reki", "gdzie indziej"),
    *("aramizda", "baska yerde", "elden"),
    *("بيننا", "مكان اخر"),
    *("二人で", "別の場所"),
)
# Hints that name no service.
HINTED: tuple[str, ...] = (
    *(
        "green app",
        "green one with the phone",
        "phone in a bubble",
        "blue plane",
        "paper plane",
        "paper airplane",
        "ghost app",
        "yellow ghost",
        "app with the ghost",
        "camera app everyone",
        "pink camera",
        "the gram",
        "little bird app",
        "the app with the",
    ),
    *(
        "grune app",
        "grunen app",
        "grunen messenger",
        "gruner messenger",
        "blauen papierflieger",
        "blaue papierflieger",
        "papierflieger",
        "app mit dem geist",
        "gelben geist",
    ),
    *(
        "app verde",
        "la verde",
        "avion de papel",
        "avioncito",
        "aplicacion verde",
        "la del fantasma",
    ),
    *("appli verte", "application verte", "avion en papier", "avion de papier", "petit fantome"),
    *("aplicativo verde", "app verdinho", "aviaozinho", "zapzap", "aviao de papel", "fantasminha"),
    *("app verde", "aeroplanino", "aeroplano di carta", "fantasmino"),
    *("groene app", "papieren vliegtuigje"),
    *("zielona aplikacja", "zielonej aplikacji"),
    *("yesil uygulama", "kagit ucak"),
    *("التطبيق الاخضر",),
    *("緑のアプリ", "緑のやつ"),
)
NAMED_SAME: tuple[str, ...] = (
    *(
        "same name",
        "same handle",
        "same username",
        "same nickname",
        "gleicher name",
        "gleichem namen",
        "selber name",
        "selbe name",
        "mismo nombre",
        "mismo usuario",
        "meme nom",
        "meme pseudo",
        "mesmo nome",
        "mesmo usuario",
        "stesso nome",
        "zelfde naam",
        "ta sama nazwa",
        "ayni isim",
        "نفس الاسم",
        "同じ名前",
    ),
)
WAYS_OUT_AT: tuple[str, ...] = (
    *(
        "wa.me",
        "t.me",
        "m.me",
        "calendly.",
        "linktr.ee",
        "linktree",
        "beacons.ai",
        "bio.link",
        "paypal.me",
        "paypal.com",
        "monzo.me",
        "revolut.me",
        "cash.app",
        "venmo.com",
        "buymeacoffee",
        "ko-fi.com",
        "patreon.com",
        "discord.gg",
        "discord.com",
        "zoom.us",
        "teams.microsoft",
        "whereby.com",
        "jit.si",
        "meet.google",
        "join.skype",
        "forms.gle",
        "docs.google.com/forms",
        "typeform.",
        "jotform.",
        "tally.so",
        "cal.com",
        "doodle.com",
        "acuityscheduling",
        "setmore",
        "bookwhen",
        "simplybook",
        "tikkie.me",
        "wise.com",
        "whatsapp.com",
        "telegram.me",
        "signal.me",
        "signal.group",
        "fiverr.com",
        "upwork.com",
        "stripe.com",
        "square.site",
        "sumup",
        "carrd.co",
        "youcanbook.me",
        "lydia-app",
        "twint.ch",
    ),
)
WAY_OUT_PATHS: tuple[str, ...] = (
    *(
        "book",
        "reserv",
        "hire",
        "contact",
        "kontakt",
        "contatt",
        "contato",
        "contacto",
        "termin",
        "buch",
        "agend",
        "prenot",
        "rdv",
        "rendez",
        "anfrag",
        "enquir",
        "inquir",
        "checkout",
        "preise",
        "prices",
        "pricing",
        "tarif",
        "precios",
        "quote",
        "marcac",
        "devis",
        "boek",
        "afspraak",
        "rezerw",
        "rezerv",
        "schedul",
        "appointment",
        "form",
    ),
)
# Verbs used with an address.
LINK_VERBS = re.compile(
    r"(?<!\w)(?:book(?!s?\b ?(?:cover|design|launch))|reserv|hire|buch(?:en|e|t|ung)|termine?\b|terminanfrag|anfrag|bestell|agend|"
    r"marcac|prenot|contact form|formular|formulaire|kontakt|contatt[io]|contato|contacto|cheaper|"
    r"gunstiger|billiger|barato|moins cher|economico|goedkoper|taniej|discount|rabatt|descuento|"
    r"desconto|sconto|remise|korting|use code|quote|preise|prices|price list|precios|tarif|listino|"
    r"packages|paquetes|without the|boek|rezerw|rezerv|fee(?!l)|pay (?!at)|enquir|inquir|schedul|"
    r"appointment|rdv|rendez-vous|write to me|get in touch|the form)|予約|حجز"
)


def index(extra: Iterable[str] = ()) -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    """Indexes whole words and prefixes by their meanings."""
    words: dict[str, set[str]] = {}
    stems: dict[str, set[str]] = {}
    for meaning, listed in LISTS.items():
        for word in listed.split():
            place = stems if word.endswith("*") else words
            place.setdefault(word.rstrip("*"), set()).add(meaning)
    for word in extra:
        words.setdefault(word, set()).add("messenger")
    return (
        {word: frozenset(meanings) for word, meanings in words.items()},
        {word: frozenset(meanings) for word, meanings in stems.items()},
    )
